#include "doctor/words.h"

#include <algorithm>
#include <array>

namespace wheelvet {
namespace {

constexpr std::size_t most_name = 64;  // longer words are nobody's variable

// Edit distance with swaps of neighbours (optimal string alignment) where it is below `limit`, else
// `limit`: only what lies that near to the diagonal counts.
std::size_t distance(std::string_view a, std::string_view b, std::size_t limit) {
  using Row = std::array<std::size_t, most_name + 1>;
  Row before, above, row;
  before.fill(limit);
  above.fill(limit);
  for (std::size_t j = 0; j < limit && j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row.fill(limit);
    row[0] = std::min(i, limit);
    for (std::size_t j = i < limit ? 1 : i - limit + 1; j < i + limit && j <= b.size(); ++j) {
      std::size_t change = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({change, above[j] + 1, row[j - 1] + 1, limit});
      bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    bool far = *std::min_element(row.begin(), row.end()) == limit &&
               *std::min_element(above.begin(), above.end()) == limit;
    if (far) return limit;
    before = above;
    above = row;
  }
  return above[b.size()];
}

}  // namespace

std::vector<std::string_view> split_at(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines = split_at(text, '\n');
  for (std::string_view& line : lines) {
    if (line.ends_with('\r')) line.remove_suffix(1);
  }
  return lines;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  std::size_t at = 0;
  while ((at = line.find_first_not_of(" \t", at)) != std::string_view::npos) {
    std::size_t end = line.find_first_of(" \t", at);
    words.push_back(line.substr(at, end - at));
    if (end == std::string_view::npos) break;
    at = end;
  }
  return words;
}

std::string parent_of(std::string_view path) {
  std::size_t slash = path.rfind('/');
  return std::string(path.substr(0, slash == std::string_view::npos ? 0 : slash));
}

std::string_view base_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string shell_quoted(std::string_view word) {
  std::string out = "'";
  for (char c : word) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& known) {
  std::string best;
  std::size_t least = 3;
  for (const std::string& each : known) {
    if (each.size() > most_name || name.size() > most_name) continue;
    std::size_t longer = std::max(each.size(), name.size()),
                shorter = std::min(each.size(), name.size());
    if (longer - shorter > 2) continue;
    std::size_t edits = distance(name, each, least);
    if (edits < least) {
      least = edits;
      best = each;
    }
  }
  return best;
}

}  // namespace wheelvet
