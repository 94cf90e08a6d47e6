// Python's statements and the blocks they stand in, without what they say.
#pragma once

#include <cstdint>
#include <vector>

#include "facts/python_tokens.h"

namespace wheelvet {

enum class PythonBlockKind : std::uint8_t {
  module,
  if_,
  elif_,
  else_,
  try_,
  except_,
  finally_,
  with_,
  for_,
  while_,
  function,
  class_,
  match_,
  case_,
  other,  ///< indented without a reason
};

struct PythonBlock {
  PythonBlockKind kind = PythonBlockKind::module;
  std::uint32_t parent = 0;    ///< its index among the blocks; the module's is 0
  std::uint32_t previous = 0;  ///< of elif, else, except, finally: the block before it, else 0
  bool swallows = false;       ///< a try that has an except
};

/// A simple statement, or the head of a compound one up to its colon.
struct PythonStatement {
  std::uint32_t first = 0, last = 0;  ///< tokens [first, last)
  std::uint32_t block = 0;            ///< the block that it stands in
  std::uint32_t opens = 0;            ///< of a head: the block of its body, else 0
};

struct PythonStatements {
  std::vector<PythonBlock> blocks;  ///< a parent stands before its children
  std::vector<PythonStatement> statements;
};

PythonStatements read_python_statements(const PythonTokens& tokens);

}  // namespace wheelvet
