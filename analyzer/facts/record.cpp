#include "facts/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <unordered_map>

#include "facts/utf8.h"
#include "input/hash.h"

namespace wheelvet {
namespace {

// A hostile RECORD may name a million files that are not there: so many are shown of each kind.
constexpr std::size_t most_faults = 20;

// One field, from `at` to the comma or line end after it; what is wrong with it, or null.
const char* read_field(std::string_view text, std::size_t& at, std::string& out) {
  out.clear();
  if (at == text.size() || text[at] != '"') {
    std::size_t end = std::min(text.find_first_of(",\"\r\n", at), text.size());
    out = text.substr(at, end - at);
    at = end;
    return at < text.size() && text[at] == '"' ? "a quote inside a field that is not quoted"
                                               : nullptr;
  }
  for (++at;;) {
    std::size_t quote = text.find('"', at);
    if (quote == std::string_view::npos) return "a quote that is not closed";
    out += text.substr(at, quote - at);
    at = quote + 1;
    if (at == text.size() || text[at] != '"') break;
    out += text[at++];
  }
  bool ends = at == text.size() || text.find_first_of(",\r\n", at) == at;
  return ends ? nullptr : "text behind a closing quote";
}

// Counts the faults of each rule and keeps the first of them.
struct Faults {
  std::vector<ArchiveFault> list;
  std::map<std::string, std::size_t> counts;

  void add(const std::string& rule, std::string_view member, std::string detail) {
    if (++counts[rule] > most_faults) return;
    list.push_back({rule, std::string(member), std::move(detail), std::nullopt});
  }
  std::vector<ArchiveFault> take() {
    for (const auto& [rule, count] : counts) {
      if (count <= most_faults) continue;
      list.push_back({rule, "", fmt::format("and {} more", count - most_faults), std::nullopt});
    }
    return std::move(list);
  }
};

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view algorithm_of(std::string_view hash) { return hash.substr(0, hash.find('=')); }

// "sha256=..." without its padding, or empty when it cannot be compared.
std::string_view comparable(std::string_view hash) {
  if (!hash_algorithm(algorithm_of(hash))) return {};
  while (hash.ends_with('=')) hash.remove_suffix(1);
  return hash;
}

// The specification asks for sha256 or better, and names md5 and sha1 as not permitted.
void check_hash(const RecordRow& row, Faults& faults) {
  std::string_view algorithm = algorithm_of(row.hash);
  if (row.hash.empty()) {
    faults.add("REC-006", row.path, "has no hash");
  } else if (row.hash.find('=') == std::string_view::npos) {
    faults.add("REC-006", row.path, "its hash names no algorithm");
  } else if (algorithm == "md5" || algorithm == "sha1") {
    faults.add("REC-006", row.path, fmt::format("{} is not permitted as its hash", algorithm));
  } else if (!hash_algorithm(algorithm)) {
    faults.add("REC-006", row.path, fmt::format("{} is not compared: not known here", algorithm));
  }
}

void check_row(const RecordRow& row, const Member& member, Faults& faults) {
  if (row.fields != 3) {
    faults.add("REC-006", row.path, fmt::format("its row has {} fields, not 3", row.fields));
  }
  check_hash(row, faults);
  if (row.size.empty()) return;  // optional
  std::optional<std::uint64_t> size = number(row.size);
  if (!size) {
    faults.add("REC-006", row.path, "its size is no number");
  } else if (*size != member.size) {
    faults.add("REC-004", row.path,
               fmt::format("{} bytes in RECORD, {} in the archive", *size, member.size));
  }
}

}  // namespace

std::string read_record(std::string_view text, const std::function<void(const RecordRow&)>& each) {
  std::string fields[3], other;
  std::size_t line = 1;
  for (std::size_t at = 0; at < text.size(); ++line) {
    for (std::string& field : fields) field.clear();
    std::size_t count = 0;
    std::size_t start = at;
    for (;;) {
      const char* wrong = read_field(text, at, count < 3 ? fields[count] : other);
      if (wrong) return fmt::format("row {}: {}", line, wrong);
      ++count;
      if (at == text.size() || text[at] != ',') break;
      ++at;
    }
    if (at == start) return fmt::format("row {}: is empty", line);
    if (at < text.size() && text[at] == '\r') ++at;
    if (at < text.size() && text[at++] != '\n') {
      return fmt::format("row {}: a carriage return that ends no line", line);
    }
    each({fields[0], fields[1], fields[2], count});
  }
  return {};
}

RecordCheck check_record(std::string_view text, const std::string& name, const Input& input) {
  RecordCheck out;
  Faults faults;
  out.digests.resize(input.members.size());
  std::unordered_map<std::string_view, std::size_t> members;
  for (std::size_t i = 0; i < input.members.size(); ++i) members.emplace(input.members[i].name, i);
  auto exempt = [&](std::string_view path) {
    return path == name || path == name + ".jws" || path == name + ".p7s";
  };
  std::vector<bool> listed(input.members.size());
  if (!is_utf8(text)) faults.add("REC-001", name, "is not UTF-8");
  std::string wrong = read_record(text, [&](const RecordRow& row) {
    if (exempt(row.path)) return;
    auto known = members.find(row.path);
    if (known == members.end()) {
      faults.add("REC-003", row.path, "is listed and not in the archive");
      return;
    }
    std::size_t index = known->second;
    if (listed[index]) faults.add("REC-006", row.path, "is listed more than once");
    listed[index] = true;
    check_row(row, input.members[index], faults);
    out.digests[index] = comparable(row.hash);
  });
  if (!wrong.empty()) faults.add("REC-001", name, wrong);
  for (std::size_t i = 0; i < listed.size() && wrong.empty(); ++i) {
    const std::string& member = input.members[i].name;
    if (!listed[i] && !exempt(member)) faults.add("REC-002", member, "is not listed");
  }
  out.faults = faults.take();
  return out;
}

std::string record_digest(const std::vector<std::uint8_t>& digest) {
  constexpr std::string_view alphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";  // RFC 4648, 5
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (std::uint8_t byte : digest) {
    bits = bits << 8 | byte;
    for (count += 8; count >= 6; count -= 6) out += alphabet[bits >> (count - 6) & 63];
  }
  if (count > 0) out += alphabet[bits << (6 - count) & 63];
  return out;
}

}  // namespace wheelvet
