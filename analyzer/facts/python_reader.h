// The reader behind read_python_source: one pass over the statements of a file, in order.
// Statements and imports are in python_source.cpp, expressions in python_expression.cpp, what
// known functions return or open in python_call.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "facts/python_source.h"
#include "facts/python_statements.h"
#include "facts/python_tokens.h"

namespace wheelvet {

using PythonNames = std::map<std::string, PythonValue, std::less<>>;

struct PythonArgument {
  std::string_view keyword;  ///< empty: by position
  bool star = false;
  PythonValue value;
};
using PythonArguments = std::vector<PythonArgument>;

/// Where the file lies, as Python names it.
struct PythonModule {
  std::string path;     ///< "torch/lib/x.py"
  std::string folder;   ///< "torch/lib"
  std::string package;  ///< "torch.lib"
  std::string name;     ///< "torch.lib.x"; of an __init__.py, the package
};

class PythonReader {
 public:
  PythonReader(const PythonTokens& tokens, const PythonStatements& statements,
               const PythonModule& module, const PythonHelpers& known);

  /// One pass. `evaluate`: follow assignments and calls, not only imports and conditions. A later
  /// pass knows the functions and module names that the one before found.
  PythonSource read(bool evaluate);
  /// True when the last pass met an import of a known helper, or of a module that holds one.
  bool imports_helpers() const;

 private:
  struct Range {
    std::size_t first = 0, last = 0;
  };
  struct Scope {
    PythonNames names;
    std::string function;  // its key among the helpers; empty: the module
    std::size_t outer = 0;
  };
  struct BlockState {
    bool dead = false, guarded = false;
    bool conditional = false;  // inside its function or the module: assignments add
    bool taken = false;        // of an if chain: a branch up to here certainly runs
    bool refused = true;       // of an if chain: no branch up to here runs
    bool in_class = false;
    std::size_t scope = 0;
  };

  // python_source.cpp
  void read_statement(const PythonStatement& statement);
  void read_head(const PythonStatement& statement);
  void read_simple(Range range);
  std::optional<bool> truth_of(Range range);
  void enter_block(const PythonStatement& statement, std::optional<bool> condition);
  bool read_import(Range range);
  void read_plain_import(Range range);
  void read_from_import(Range range);
  void add_import(std::string module, std::vector<std::string> names);
  void read_function_head(Range range, BlockState& state);
  void read_parameters(Range range, PythonHelper& helper, Scope& scope, bool method);
  void read_for(Range range);
  void read_with(Range range);
  bool read_assignment(Range range);
  void assign(Range target, const PythonValue& value);
  void assign_name(const std::string& name, const PythonValue& value, bool add);
  std::vector<Range> split(Range range, std::string_view at) const;
  std::size_t find(Range range, std::string_view spelt) const;
  std::string dotted(Range range, std::size_t& at) const;

  // python_expression.cpp
  PythonValue evaluate(Range range);
  std::vector<PythonValue> evaluate_list(Range range);
  bool at(std::string_view spelt) const;
  PythonValue expression();
  PythonValue disjunction();
  PythonValue conjunction();
  PythonValue comparison();
  PythonValue sum();
  PythonValue product();
  PythonValue primary();
  PythonValue atom(std::string& variable);
  PythonValue name_value(std::string_view name);
  PythonValue bracketed(char open, Range inside);
  PythonValue comprehension(Range inside, std::size_t first_for);
  PythonValue display(char open, Range inside);
  PythonValue strings();
  PythonValue formatted(std::string_view body, bool raw);
  PythonValue field(std::string_view text);
  PythonValue attribute(const PythonValue& value, std::string_view name);
  PythonValue sliced(const PythonValue& value, Range inside) const;
  PythonValue subscript(const PythonValue& value, Range inside);
  PythonArguments arguments(Range inside);
  PythonValue charged(PythonValue value);
  const PythonValue* find_name(std::string_view name) const;

  // python_call.cpp
  PythonValue call_function(const std::string& name, const PythonArguments& arguments);
  PythonValue call_method(const PythonValue& value, std::string_view name,
                          const PythonArguments& arguments, const std::string& variable);
  PythonValue call_helper(const PythonHelper& helper, const PythonArguments& arguments);
  bool call_opener(const std::string& name, const PythonArguments& arguments);
  void call_importer(const PythonArguments& arguments);
  std::optional<PythonValue> call_path_function(std::string_view name,
                                                const PythonArguments& arguments);
  void open(const PythonValue& path, const PythonValue& mode, const std::string& call, bool guarded,
            bool seen_before);
  const PythonHelper* find_helper(const std::string& name) const;
  PythonValue package_folder(const PythonValue& name) const;
  PythonValue own_file() const;

  const BlockState& state() const { return states_[block_]; }

  const PythonTokens* tokens_;
  const PythonStatements& statements_;
  const PythonModule& module_;
  const PythonHelpers& known_;

  PythonSource out_;
  PythonHelpers own_;                                         // by plain name, ".name" for methods
  PythonNames module_names_;                                  // as the pass before left them
  std::map<std::string, std::string, std::less<>> imported_;  // name to dotted name
  std::vector<BlockState> states_;
  std::vector<Scope> scopes_;
  std::uint32_t block_ = 0;
  std::uint32_t line_ = 0;  // of the statement being read
  bool evaluate_ = false;

  Range range_;  // what is left of the expression being read
  int depth_ = 0;
  std::size_t spent_ = 0;
};

}  // namespace wheelvet
