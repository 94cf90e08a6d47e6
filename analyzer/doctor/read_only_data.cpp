#include "doctor/read_only_data.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "input/random_file.h"

namespace wheelvet {
namespace {

constexpr std::uint64_t most_bytes = 64u << 20;
constexpr std::uint64_t entry_size = 64;  // Elf64_Shdr

std::uint64_t number(const std::uint8_t* at, int bytes) {
  std::uint64_t value = 0;
  for (int i = bytes - 1; i >= 0; --i) value = value << 8 | at[i];
  return value;
}

struct Section {
  std::uint64_t name = 0, offset = 0, size = 0;
};

Section section_at(const std::vector<std::uint8_t>& table, std::uint64_t index) {
  const std::uint8_t* entry = &table[index * entry_size];
  return {number(entry, 4), number(entry + 24, 8), number(entry + 32, 8)};
}

}  // namespace

std::string read_only_data(const std::string& path) {
  RandomFile file(path);
  if (file.size() < entry_size) return {};
  std::vector<std::uint8_t> head = file.read(0, 64, "ELF header");
  bool elf = head[0] == 0x7f && head[1] == 'E' && head[2] == 'L' && head[3] == 'F' &&
             head[4] == 2 && head[5] == 1;  // ELFCLASS64, ELFDATA2LSB
  std::uint64_t count = number(&head[60], 2), names = number(&head[62], 2);
  if (!elf || number(&head[58], 2) != entry_size || names >= count) return {};
  std::vector<std::uint8_t> table =
      file.read(number(&head[40], 8), count * entry_size, "section headers");
  Section strings = section_at(table, names);
  if (strings.size > most_bytes) return {};
  std::vector<std::uint8_t> text = file.read(strings.offset, strings.size, "section names");
  std::string_view spelt(reinterpret_cast<const char*>(text.data()), text.size());
  constexpr std::string_view wanted(".rodata\0", 8);
  for (std::uint64_t i = 0; i < count; ++i) {
    Section section = section_at(table, i);
    bool found = section.name < spelt.size() && spelt.substr(section.name).starts_with(wanted);
    if (!found || section.size > most_bytes) continue;
    std::vector<std::uint8_t> bytes = file.read(section.offset, section.size, ".rodata");
    return std::string(bytes.begin(), bytes.end());
  }
  return {};
}

}  // namespace wheelvet
