#include "job.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "answer_json.h"

namespace wheelvet::probe {

Job read_job(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) throw std::runtime_error(path + " cannot be read");
  return parse_job(text.str());
}

}  // namespace wheelvet::probe
