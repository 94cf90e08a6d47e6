#include "matrix/result_cache.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "input/hash.h"
#include "input/random_file.h"
#include "machine/own_program.h"
#include "report/json_document.h"
#include "report/read_report.h"
#include "report/render.h"

namespace wheelvet {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t most_bytes = 1u << 28;  // a report of a whole environment has some MB

// The program's own bytes: code, rules and history are all in it.
const std::string& program_identity() {
  static const std::string identity = sha256_of_file(own_program());
  return identity;
}

// Lengths go in front, so that no two lists of texts become one.
void add(std::string& all, const std::string& text) {
  all += fmt::format("{}:{}\n", text.size(), text);
}

// The first line of what is kept: what a disk or a hand changed is judged anew.
std::string seal_of(const std::string& key, std::string_view text) {
  std::string all = key + "\n" + std::string(text);
  return sha256_hex(Bytes(reinterpret_cast<const std::uint8_t*>(all.data()), all.size()));
}

std::vector<std::uint8_t> read_whole(const std::string& path) {
  RandomFile file(path);
  return file.size() > most_bytes ? std::vector<std::uint8_t>{} : file.read(0, file.size(), "text");
}

}  // namespace

std::string default_cache_folder() {
  const char* base = std::getenv("XDG_CACHE_HOME");
  if (base && *base == '/') return std::string(base) + "/wheelvet/results";
  const char* home = std::getenv("HOME");
  return home && *home == '/' ? std::string(home) + "/.cache/wheelvet/results" : "";
}

std::string cache_key(const Request& request, const std::vector<const Input*>& inputs) {
  const char* rules = std::getenv("WHEELVET_RULES");
  if (rules && *rules) return {};
  std::string all;
  add(all, program_identity());
  add(all, request.python);
  for (const std::string& name : request.imports) add(all, "import " + name);
  for (const std::string& gpu : request.gpus) {
    if (gpu == "host") return {};  // this machine's, whatever they are
    add(all, "gpu " + gpu);
  }
  add(all, "driver " + request.driver);
  add(all, fmt::format("alone {} hash {}", request.alone, request.hash));
  for (const Input* input : inputs) {
    if (input->kind == InputKind::folder || !input->problems.empty()) return {};
    add(all, fmt::format("{} {} {}", static_cast<int>(input->kind), input->target, input->size));
    add(all, input->label);
    // A release has no bytes of its own: what is known of it is in the program.
    if (input->kind == InputKind::release) add(all, input->path);
    add(all, input->kind == InputKind::file ? sha256_of_file(input->path) : input->identity);
  }
  return sha256_hex(Bytes(reinterpret_cast<const std::uint8_t*>(all.data()), all.size()));
}

std::optional<Report> cached_report(const std::string& folder, const std::string& key) {
  std::string path = folder + "/" + key + ".report";
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return std::nullopt;
  try {
    std::vector<std::uint8_t> bytes = read_whole(path);
    std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    std::size_t end = std::min(text.find('\n'), text.size());
    if (text.substr(0, end) != seal_of(key, text.substr(std::min(end + 1, text.size())))) {
      return std::nullopt;
    }
    return read_report(read_json(text.substr(end + 1)));
  } catch (const Unreadable&) {
    return std::nullopt;
  }
}

void keep_report(const std::string& folder, const std::string& key, const Report& report) {
  std::error_code error;
  fs::create_directories(folder, error);
  // Renamed into place: another run never sees half of it.
  std::string path = folder + "/" + key + ".report";
  std::string part = fmt::format("{}.{}", path, ::getpid());
  std::ofstream out(part, std::ios::binary);
  std::string text = render_json(report, false);
  out << seal_of(key, text) << '\n' << text;
  out.close();
  if (out) {
    fs::rename(part, path, error);
  } else {
    fs::remove(part, error);
  }
}

}  // namespace wheelvet
