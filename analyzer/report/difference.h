// What changed between two inputs, as data: what `diff` shows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/render.h"
#include "wheelvet/finding.h"
#include "wheelvet/problem.h"
#include "wheelvet/report.h"

namespace wheelvet {

/// An exported name that is not what it was.
struct NameChange {
  std::string symbol, readable, version;              ///< of OLD; empty for a new name
  std::string library;                                ///< installed path of the library of OLD
  std::string new_symbol, new_readable, new_version;  ///< of NEW; empty when it is gone
  std::string new_library;
  std::string difference;  ///< "argument 4: int before, unsigned int now"
  bool used = false;       ///< some --used-by imports it
};

/// One thing that changed for users, with all names that it concerns.
struct Change {
  std::string kind;  ///< "exports-gone", "soname", ...: a word of the schema
  Severity severity = Severity::note;
  std::string title;  ///< one sentence
  std::string before, now;
  std::vector<std::string> evidence;
  std::vector<NameChange> names;  ///< those first that matter most
};

/// A library of OLD and what stands for it in NEW; one of the paths is empty when there is none.
struct LibraryChange {
  std::string path, new_path;
  std::string paired_by;  ///< path, soname, bundled name, file name; empty when it has no partner
  std::uint64_t size = 0, new_size = 0;  ///< bytes
  std::size_t exports = 0, new_exports = 0;
};

/// A module of a user, beside OLD and beside NEW.
struct UserModule {
  std::string path, name;
  Status before = Status::loads, now = Status::loads;
  bool breaks = false;  ///< it loads beside OLD and fails beside NEW
};

struct UserOutcome {
  std::string label;
  std::vector<UserModule> modules;
  bool breaks = false;
  bool complete = true;  ///< both sides could be judged
  Report now;            ///< beside NEW; only findings that concern what breaks
};

struct DifferenceSide {
  std::string label, kind;
  std::vector<std::string> packages;  ///< "torch 2.10.0"
  std::uint64_t size = 0;             ///< bytes, archives and single files
};

struct Difference {
  DifferenceSide before, now;
  bool breaks = false;
  std::string headline;
  std::vector<UserOutcome> users;
  std::vector<Change> changes;  ///< what breaks first
  std::vector<LibraryChange> libraries;
  std::vector<Problem> problems;
  bool complete = true;
  Stats stats;
};

/// "1 library that is gone", "3 libraries that are gone".
std::string counted(std::size_t count, std::string_view one, std::string_view several);

std::string render_text(const Difference& difference, const TextOptions& options);
std::string render_json(const Difference& difference, bool stats);

}  // namespace wheelvet
