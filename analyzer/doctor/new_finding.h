#pragma once

#include <string>
#include <utility>

#include "wheelvet/finding.h"

namespace wheelvet {

inline Finding new_finding(const char* id, Severity severity, std::string title,
                           std::string object = {}) {
  Finding finding;
  finding.id = id;
  finding.severity = severity;
  finding.title = std::move(title);
  if (!object.empty()) finding.objects = {std::move(object)};
  return finding;
}

}  // namespace wheelvet
