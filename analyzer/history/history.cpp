#include "history/history.h"

#include <fmt/format.h>

#include <algorithm>

#include "history/history_text.h"
#include "input/inflate.h"
#include "rules/rules.h"

namespace wheelvet {
namespace {

constexpr std::string_view magic = "WVHISTRY";
constexpr std::uint32_t format = 1;
// Bounds of what a table may ask this reader to hold. The real ones: 52 builds, 2 MB of facts,
// names below 2 kB, blocks of 0.5 MB.
constexpr std::uint32_t most_builds = 1024;
constexpr std::uint32_t largest_section = 16u << 20;
constexpr std::uint32_t largest_block = 1u << 20;
constexpr std::size_t longest_name = 16u << 10;
constexpr std::size_t longest_text = 16u << 20;

struct Header {
  char magic[8];
  std::uint32_t format, builds, patterns, names;
};

struct Section {
  std::uint32_t offset, packed, size, crc;
};

enum SectionNumber { head_section, pattern_section, index_section, facts_section, section_count };

constexpr std::size_t section_offset(std::size_t section) {
  return sizeof(Header) + section * sizeof(Section);
}

Section section_at(Bytes bytes, SectionNumber number) {
  return load<Section>(bytes, section_offset(number), "history section");
}

std::vector<std::uint8_t> unpacked(Bytes bytes, const Section& section, std::uint32_t largest,
                                   std::string_view field) {
  if (section.size > largest) throw Unreadable(field, section.offset, "is too large");
  return inflate_bytes(slice(bytes, section.offset, section.packed, field), section.size,
                       section.crc, field, section.offset);
}

// A number in groups of seven bits, the lowest first, at `at`, which moves past it.
std::uint32_t read_varint(Bytes bytes, std::size_t& at, std::string_view field) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 35; shift += 7) {
    std::uint8_t byte = load<std::uint8_t>(bytes, at++, field);
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (!(byte & 0x80)) {
      if (value > UINT32_MAX) break;
      return static_cast<std::uint32_t>(value);
    }
  }
  throw Unreadable(field, at, "number is too large");
}

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::size_t mask_size(const History& history) { return (history.builds.size() + 7) / 8; }

// Finds where each pattern starts, and that every library it names exists.
void read_patterns(History& history, std::uint32_t count) {
  constexpr std::string_view field = "history pattern";
  Bytes bytes = history.patterns;
  std::size_t at = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    history.pattern_starts.push_back(static_cast<std::uint32_t>(at));
    std::uint32_t pairs = read_varint(bytes, at, field);
    for (std::uint32_t pair = 0; pair < pairs; ++pair) {
      std::size_t start = at;
      if (read_varint(bytes, at, field) >= history.libraries.size()) {
        throw Unreadable(field, start, "no such library");
      }
      slice(bytes, at, mask_size(history), field);
      at += mask_size(history);
    }
  }
  if (at != bytes.size()) throw Unreadable(field, at, "more bytes than patterns");
}

void read_index(History& history, Bytes index, std::uint32_t names) {
  constexpr std::string_view field = "history index";
  std::uint64_t total = 0;
  std::uint64_t start = std::uint64_t{section_at(history.bytes, facts_section).offset} +
                        section_at(history.bytes, facts_section).packed;
  for (std::size_t at = 0; at < index.size();) {
    NameBlock block;
    Section where = load<Section>(index, at, field);
    block.count = load<std::uint32_t>(index, at + sizeof where, field);
    at += sizeof where + sizeof block.count;
    std::uint64_t offset = start + where.offset;
    if (!fits(offset, where.packed, history.bytes.size())) {
      throw Unreadable(field, at, "block ends after the data");
    }
    block.offset = static_cast<std::uint32_t>(offset);
    block.packed = where.packed;
    block.size = where.size;
    block.crc = where.crc;
    std::uint32_t length = read_varint(index, at, field);
    block.first = text_of(slice(index, at, length, field));
    at += length;
    if (!history.blocks.empty() && history.blocks.back().first >= block.first) {
      throw Unreadable(field, at, "blocks are not in order");
    }
    total += block.count;
    history.blocks.push_back(std::move(block));
  }
  if (total != names) throw Unreadable(field, std::nullopt, "blocks hold another number of names");
}

// Front-coded names: how much of the name before is shared, and what follows.
void unpack(const History& history, NameBlock& block) {
  constexpr std::string_view field = "history names";
  if (!block.ends.empty()) return;
  std::vector<std::uint8_t> plain = unpacked(
      history.bytes, {block.offset, block.packed, block.size, block.crc}, largest_block, field);
  std::uint32_t length_bytes = load<std::uint32_t>(plain, 0, field);
  std::uint32_t pattern_bytes = load<std::uint32_t>(plain, 4, field);
  Bytes lengths = slice(plain, 8, length_bytes, field);
  Bytes patterns = slice(plain, std::uint64_t{8} + length_bytes, pattern_bytes, field);
  Bytes rest = Bytes(plain).subspan(std::size_t{8} + length_bytes + pattern_bytes);
  NameBlock read;
  std::size_t length_at = 0, pattern_at = 0, rest_at = 0, start = 0;
  std::string name, before;
  for (std::uint32_t i = 0; i < block.count; ++i) {
    std::uint32_t shared = read_varint(lengths, length_at, field);
    std::uint32_t more = read_varint(lengths, length_at, field);
    std::uint32_t pattern = read_varint(patterns, pattern_at, field);
    if (shared > before.size() || pattern >= history.pattern_starts.size() ||
        more > longest_name - std::min<std::size_t>(shared, longest_name)) {
      throw Unreadable(field, block.offset, fmt::format("name {} of its block is damaged", i));
    }
    name.assign(before, 0, shared);
    name += text_of(slice(rest, rest_at, more, field));
    rest_at += more;
    if (i == 0 ? name != block.first : name <= before) {
      throw Unreadable(field, block.offset, fmt::format("name {} of its block is out of order", i));
    }
    if (read.text.size() > longest_text) throw Unreadable(field, block.offset, "is too large");
    read.text += name;
    read.ends.push_back(static_cast<std::uint32_t>(start += name.size()));
    read.patterns.push_back(pattern);
    std::swap(name, before);
  }
  block.text = std::move(read.text);
  block.ends = std::move(read.ends);
  block.patterns = std::move(read.patterns);
}

std::string_view name_at(const NameBlock& block, std::size_t i) {
  std::size_t start = i == 0 ? 0 : block.ends[i - 1];
  return std::string_view(block.text).substr(start, block.ends[i] - start);
}

// The first name in the block that is not less.
std::size_t lower_bound_in(const NameBlock& block, std::string_view name) {
  std::size_t low = 0, high = block.ends.size();
  while (low < high) {
    std::size_t middle = low + (high - low) / 2;
    if (name_at(block, middle) < name) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// The block that holds the name if any does; also where names that begin so start.
std::size_t block_of(const History& history, std::string_view name) {
  auto after = std::upper_bound(
      history.blocks.begin(), history.blocks.end(), name,
      [](std::string_view wanted, const NameBlock& block) { return wanted < block.first; });
  std::size_t index = static_cast<std::size_t>(after - history.blocks.begin());
  return index == 0 ? 0 : index - 1;
}

std::vector<Export> expanded(const History& history, std::uint32_t pattern) {
  std::vector<Export> out;
  Bytes bytes = history.patterns;
  std::size_t at = history.pattern_starts[pattern];
  std::uint32_t pairs = read_varint(bytes, at, "history pattern");
  for (std::uint32_t pair = 0; pair < pairs; ++pair) {
    std::uint32_t library = read_varint(bytes, at, "history pattern");
    for (std::uint32_t build = 0; build < history.builds.size(); ++build) {
      if (bytes[at + build / 8] >> (build % 8) & 1) out.push_back({build, library});
    }
    at += mask_size(history);
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Export& a, const Export& b) { return a.build < b.build; });
  return out;
}

bool begins_with_one_of(std::string_view text, const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& word) { return text.starts_with(word); });
}

}  // namespace

History read_history(Bytes bytes) {
  History history;
  history.bytes = bytes;
  if (text_of(slice(bytes, 0, magic.size(), "history")) != magic) {
    throw Unreadable("history", 0, "does not begin as such a table does");
  }
  auto header = load<Header>(bytes, 0, "history");
  if (header.format != format) {
    throw Unreadable("history format", offsetof(Header, format),
                     fmt::format("is {}, not {}", header.format, format));
  }
  auto section = [&](SectionNumber number, std::string_view field) {
    return unpacked(bytes, section_at(bytes, number), largest_section, field);
  };
  read_head(text_of(section(head_section, "history head")), history);
  if (history.builds.size() != header.builds || history.builds.size() > most_builds) {
    throw Unreadable("history head", offsetof(Header, builds), "another number of builds");
  }
  history.patterns = section(pattern_section, "history pattern");
  read_patterns(history, header.patterns);
  read_index(history, section(index_section, "history index"), header.names);
  return history;
}

History load_history() {
  std::string_view text = rules_text("history/torch.bin");
  return read_history({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

bool covers(const History& history, std::string_view name) {
  const Coverage& coverage = history.coverage;
  for (const std::string& word : coverage.without) {
    if (name.find(word) != std::string_view::npos) return false;
  }
  if (name.starts_with("_Z") && name.size() > 2 && name[2] >= '0' && name[2] <= '9') {
    return begins_with_one_of(
        name.substr(std::min(name.size(), name.find_first_not_of("0123456789", 2))),
        coverage.globals);
  }
  for (const std::string& opener : coverage.openers) {
    if (name.starts_with(opener) &&
        begins_with_one_of(name.substr(opener.size()), coverage.namespaces)) {
      return true;
    }
  }
  return begins_with_one_of(name, coverage.plain);
}

std::vector<Export> exports_of(History& history, std::string_view name) {
  if (history.blocks.empty()) return {};
  NameBlock& block = history.blocks[block_of(history, name)];
  unpack(history, block);
  std::size_t at = lower_bound_in(block, name);
  if (at == block.ends.size() || name_at(block, at) != name) return {};
  return expanded(history, block.patterns[at]);
}

void each_name(History& history, std::string_view beginning,
               const std::function<void(std::string_view, const std::vector<Export>&)>& each) {
  for (std::size_t i = block_of(history, beginning); i < history.blocks.size(); ++i) {
    NameBlock& block = history.blocks[i];
    unpack(history, block);
    for (std::size_t at = lower_bound_in(block, beginning); at < block.ends.size(); ++at) {
      std::string_view name = name_at(block, at);
      if (!name.starts_with(beginning)) return;
      each(name, expanded(history, block.patterns[at]));
    }
  }
}

std::vector<BuildFacts> read_build_facts(const History& history) {
  Section section = section_at(history.bytes, facts_section);
  std::vector<std::uint8_t> text =
      unpacked(history.bytes, section, largest_section, "history facts");
  return read_facts_text(text_of(text), history.builds.size());
}

std::string version_floor(const BuildFacts& facts, std::string_view family) {
  std::string highest;
  for (const HistoryObject& object : facts.objects) {
    for (const auto& [file, versions] : object.versions) {
      for (std::string_view version : versions) {
        if (!version.starts_with(family) || version.size() <= family.size() ||
            version[family.size()] != '_') {
          continue;
        }
        version.remove_prefix(family.size() + 1);
        if (highest.empty() || compare_versions(version, highest) > 0) highest = version;
      }
    }
  }
  return highest;
}

}  // namespace wheelvet
