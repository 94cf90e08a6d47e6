// Suppressions: findings that a project has looked at and lives with.
#pragma once

#include <string>
#include <vector>

#include "config/toml.h"
#include "rules/rules.h"
#include "wheelvet/report.h"

namespace wheelvet {

struct Suppression {
  std::string rule;      ///< pattern of ids
  std::string object;    ///< pattern of installed paths or file names; empty: any
  std::string symbol;    ///< pattern of mangled or readable names; empty: any, or none
  std::string target;    ///< pattern of the target's file or "name version"; empty: any
  std::string provider;  ///< the same of a provider; empty: any, or none
  std::string reason;
  std::string until;  ///< last day it holds, YYYY-MM-DD; empty: for ever
  std::string file;   ///< where it is written
  unsigned line = 0;
  bool of_doctor = false;  ///< `doctor` alone reports what it matches
  bool in_scope = false;   ///< target and provider were those of some report
  bool used = false;       ///< it matched something
};

/// Reads [[suppress]] tables. WrongUsage for an unknown rule, a missing reason, a date that is
/// none, and a suppression that another one covers.
std::vector<Suppression> read_suppressions(const std::vector<TomlTable>& tables,
                                           const std::vector<CatalogEntry>& catalog);

/// Marks the findings of which every symbol in every object is covered by a suppression that has
/// not expired; a finding that is covered in part counts as before. Notes which were of use.
void apply_suppressions(std::vector<Suppression>& suppressions, const std::string& today,
                        Report& report);

/// CFG-001 and CFG-002: those in scope that matched nothing, and those that have expired; of the
/// rules that `doctor` alone reports, or of the others: one file serves all commands.
std::vector<Finding> judge_suppressions(const std::vector<Suppression>& suppressions,
                                        const std::string& today, bool of_doctor = false);

/// Errors first, as `explain` sorts.
void sort_findings(std::vector<Finding>& findings);

/// The day in UTC, YYYY-MM-DD; that of SOURCE_DATE_EPOCH where it is set, so that a run can be
/// repeated.
std::string today();

/// WrongUsage unless some rule of the catalogue matches the pattern.
void require_rule(const std::string& pattern, const std::string& file, unsigned line,
                  const std::vector<CatalogEntry>& catalog);

/// True for the id itself, a pattern, and a family's name alone ("SYM").
bool matches_rule(const std::string& pattern, const std::string& id);

}  // namespace wheelvet
