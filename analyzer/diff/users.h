// Users of a library, beside its old and its new form: which of their modules break.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "link/link.h"
#include "report/difference.h"
#include "wheelvet/facts.h"
#include "wheelvet/input.h"

namespace wheelvet {

/// The inputs of a comparison with their facts, by role: indices.
struct Cast {
  std::vector<Input>& inputs;
  Facts& facts;
  std::size_t before = 0, now = 0;
  std::vector<std::size_t> users, providers;
};

/// Loads every module of one user beside OLD and beside NEW, with the providers at its side.
UserOutcome judge_user(Cast& cast, std::size_t user, const Rules& rules, const std::string& python,
                       unsigned jobs);

/// The names that the users import.
std::set<std::string, std::less<>> names_used(const Cast& cast);

}  // namespace wheelvet
