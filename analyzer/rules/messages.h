// What programs say when something does not load, and the facts that explain it:
// rules/messages.toml and rules/explain.toml.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wheelvet {

/// A way to mend it. Both texts may name parts of the message: "pip install 'x=={version}'". One
/// whose text names a part that the message does not have is left out.
struct MessageFix {
  std::string side, say, run;
};

/// A wording. `texts` are patterns: literal text with parts in braces, "{file}: undefined symbol:
/// {symbol}"; a part may name its class, "{found:version}" (analyzer/explain/pattern.h).
struct MessageRule {
  std::string id;
  std::string about;  ///< which part of the program judges it: symbol, library, floor, driver, ...
  std::vector<std::string> texts;
  std::vector<std::string> unless;  ///< not meant when the line holds one of these
  std::string kind, say, wants, has;
  std::vector<std::pair<std::string, std::string>> parts;  ///< further parts, fixed by the wording
  std::vector<MessageFix> fixes;
  std::vector<std::string> shows, unknown;
  bool hides = false;     ///< the cause is another message
  bool mentions = false;  ///< only repeats or accompanies an error
};

/// A GPU architecture: the first CUDA release whose tools know it, and the last.
struct ArchRule {
  std::string name, since, until, gpus;
};

/// A version node of libstdc++ and the GCC release that brought it.
struct NodeRule {
  std::string node, gcc;
};

/// A distribution with the glibc and the newest GCC runtime that it has.
struct DistroRule {
  std::string name, glibc, gcc;
};

/// Who brings a header of CUDA, or the link name of a library.
struct DevelopmentRule {
  std::vector<std::string> headers;  ///< '*' allowed
  std::vector<std::string> links;    ///< "cudart" for -lcudart
  std::vector<std::string> pip;      ///< of CUDA 12, of CUDA 13
  std::string apt;                   ///< "{dash}" stands for the CUDA release: "12-8"
};

/// Symbols that the export tables do not know.
struct SymbolRule {
  std::vector<std::string> names;       ///< '*' allowed
  std::vector<std::string> namespaces;  ///< "tensorflow"
  std::string kind, owner, package, since, say;
  std::vector<MessageFix> fixes;
};

/// A folder or file name and the package that it belongs to.
struct PathRule {
  std::string path, owner, kind;
};

/// Releases of a package that belong to releases of another one.
struct ReleasePair {
  std::string package, with;
  std::vector<std::pair<std::string, std::string>> releases;  ///< "0.24" -> "2.9"
};

/// A tool that a package brings along, by its release.
struct BundledRule {
  std::string package, tool, since, version, variable;
  std::string least_arch;  ///< used from this architecture on, such as "100"; empty for all
};

struct ExplainRules {
  std::vector<MessageRule> messages;
  std::vector<ArchRule> architectures;
  std::vector<NodeRule> nodes;
  std::vector<DistroRule> distributions;
  std::vector<DevelopmentRule> development;
  std::vector<SymbolRule> symbols;
  std::vector<PathRule> paths;
  std::vector<ReleasePair> pairs;
  std::vector<BundledRule> bundled;
  std::vector<std::pair<std::string, std::string>> drivers;  ///< CUDA major -> least driver
};

/// What stands behind a name and a tab in a table of rules/ with a name per line; empty when it is
/// not there.
std::string_view table_value(std::string_view table, std::string_view name);

/// Reads both files. WrongUsage names file and line of one that does not parse.
ExplainRules load_explain_rules();

}  // namespace wheelvet
