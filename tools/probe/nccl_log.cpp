#include "nccl_log.h"

#include <algorithm>
#include <fstream>
#include <regex>

namespace wheelvet::probe {
namespace {

constexpr std::size_t longest_log = 16u << 20;  // a log of 8 ranks on one host is 200 kB

void add_once(std::vector<std::string>& list, const std::string& text) {
  if (list.size() < 50 && std::find(list.begin(), list.end(), text) == list.end())
    list.push_back(text);
}

/// The wording of NCCL 2.18 to 2.30: src/init.cc, src/transport/*.cc, src/misc/param.cc.
void read_line(const std::string& line, NcclLog& log) {
  static const std::regex version("NCCL version ([0-9][0-9.]*\\+?[a-z0-9.]*)");
  static const std::regex channels("([0-9]+) coll channels");
  static const std::regex transport(" via ([A-Za-z0-9/]+)");
  static const std::regex network("Using network ([A-Za-z0-9_.-]+)");
  static const std::regex setting("(NCCL_[A-Z0-9_]+) set by environment to (.*?)\\.?$");
  std::smatch found;
  if (std::regex_search(line, found, version)) log.version = found[1];
  if (std::regex_search(line, found, channels)) log.channels = std::stoi(found[1]);
  if (line.find("Channel ") != std::string::npos && std::regex_search(line, found, transport)) {
    add_once(log.transports, found[1]);
  }
  if (std::regex_search(line, found, network)) log.network = found[1];
  if (std::regex_search(line, found, setting))
    add_once(log.settings, found[1].str() + "=" + found[2].str());
  std::size_t warning = line.find("NCCL WARN ");
  if (warning != std::string::npos) add_once(log.warnings, line.substr(warning + 10));
}

}  // namespace

void read_nccl_log(const std::string& path, NcclLog& log) {
  std::ifstream file(path);
  std::string line;
  std::size_t read = 0;
  while (read < longest_log && std::getline(file, line)) {
    read += line.size() + 1;
    if (line.size() < 2000) read_line(line, log);
  }
}

}  // namespace wheelvet::probe
