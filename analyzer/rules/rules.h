// The data in rules/: who owns a library, what an import loads, what a finding means.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace wheelvet {

/// Who ships a shared library that the inputs lack.
struct LibraryRule {
  std::string soname;                 ///< exact, or with one '*'
  std::string kind;                   ///< driver, cuda, nccl, system, python, torch, other
  std::vector<std::string> pip;       ///< packages that ship it, the recommended one first
  std::vector<std::string> path;      ///< folders under site-packages where those put it
  std::string apt;                    ///< the system package, where there is one
  std::string exports;                ///< name of its export table, or empty
  std::vector<std::string> prefixes;  ///< its exported C names begin so
  bool versioned = false;             ///< every export carries a version
  bool plain = false;                 ///< part of every plain distribution
};

/// A name family: imports that can only belong to one kind of library.
struct FamilyRule {
  std::string kind;
  std::vector<std::string> namespaces;
  std::vector<std::string> prefixes;
};

/// One dlopen that an import statement makes.
struct ImportStep {
  std::string open;     ///< path under site-packages; '*' allowed in the file name
  bool global = false;  ///< RTLD_GLOBAL
  bool optional = false;
  std::string since, until;  ///< releases of the package: since <= release < until; empty is open
  /// Libraries looked for in nvidia/<folder>/lib, nvidia/cu<major>/lib, <folder>/lib, in this
  /// order; the first that is missing ends the step.
  std::vector<std::pair<std::string, std::string>> preload;
  /// Libraries opened, as a preload, when the load fails; then it is tried once more.
  std::vector<std::pair<std::string, std::string>> rescue;
  std::string
      only_if_loaded;  ///< a soname prefix that must be in the process for the step to happen
};

struct ImportRule {
  std::string module;
  std::string package;
  bool statement = true;  ///< an import statement does it; else code of the package that needs it
  std::vector<std::string> needed_by;  ///< a root that needs one of these sonames imports it first
  std::vector<std::string> roots;      ///< so do roots of these paths; '*' in a part
  std::vector<ImportStep> steps;
};

/// A manylinux policy of one architecture (auditwheel's policy files).
struct PolicyRule {
  std::string name;
  std::vector<std::string> aliases;
  std::string arch;
  std::map<std::string, std::vector<std::string>> versions;  ///< "GLIBC" -> allowed versions
  std::vector<std::string> libraries;                        ///< sonames allowed outside the wheel
  /// Symbols of an allowed library that are private to it: soname -> names.
  std::map<std::string, std::vector<std::string>> forbidden;
};

/// An entry of the catalogue.
struct CatalogEntry {
  std::string id, severity, title, why, fix, source;
};

/// Roots of which a package picks one at run time.
struct AlternativesRule {
  std::string package;
  std::vector<std::string> roots;  ///< path patterns with '*'
  std::string by;                  ///< what decides: "GPU", "CUDA version", "FFmpeg version"
  bool optional = false;           ///< the package does without any of them
};

/// Libraries that one opens by name at run time.
struct DlopenRule {
  std::string by;                  ///< its soname, '*' allowed
  std::vector<std::string> opens;  ///< names, '*' allowed
};

struct Rules {
  std::vector<LibraryRule> libraries;
  /// Of `libraries`: those of one soname, by it, and those of a pattern, in their order.
  std::unordered_map<std::string, std::size_t> by_soname;
  std::vector<std::size_t> by_pattern;
  std::vector<FamilyRule> families;
  std::vector<ImportRule> imports;
  std::vector<AlternativesRule> alternatives;
  std::vector<PolicyRule> policies;
  std::vector<DlopenRule> dlopens;
  std::map<std::string, std::string> newest_versions;  ///< "GLIBC" -> newest released
};

/// Exported names of one library, by release where the table has columns.
struct ExportTable {
  std::vector<std::string> columns;                           ///< empty: one release only
  std::unordered_map<std::string_view, std::uint32_t> names;  ///< bit per column
  std::uint32_t unsure = 0;  ///< columns of which the table is not sure
};

/// Reads the tables that `check` needs. A rules file that does not parse is an error of the program
/// or of the folder given: WrongUsage names file and line.
Rules load_rules();

/// The catalogue of findings, in its order; read once, kept.
const std::vector<CatalogEntry>& load_catalog();

/// Reads the text of such a table; its names are views into it. WrongUsage for a column that is not
/// declared.
ExportTable read_export_table(std::string_view lines);

/// One table of rules/exports; read once, kept. Null when there is none of that name.
const ExportTable* export_table(const std::string& name);

/// The Debian package that holds a soname, from rules/distro.txt; empty when none does.
std::string_view distro_package(std::string_view soname);

/// Text of a file in rules/, built into the program; a folder named by WHEELVET_RULES goes first,
/// so that a new release of torch or CUDA needs no compiler. Empty when there is no such file.
std::string_view rules_text(std::string_view name);

/// Index of the library rule for a soname, or `none`.
std::size_t library_of(const Rules& rules, std::string_view soname);

/// True when `text` matches a pattern in which '*' stands for any run of characters but '/'.
bool matches(std::string_view pattern, std::string_view text);

/// Compares dotted numbers: negative, zero, positive.
int compare_versions(std::string_view a, std::string_view b);

}  // namespace wheelvet
