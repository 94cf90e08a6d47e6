// A name that nobody exports: whose it is, and who can say more.
#include <algorithm>

#include "explain/families.h"
#include "facts/metadata.h"
#include "history/name_forms.h"
#include "link/demangle.h"
#include "wheelvet/link.h"

namespace wheelvet {
namespace {

constexpr std::size_t most_candidates = 4;

bool starts_with_any(std::string_view text, const std::vector<std::string>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const std::string& prefix) { return text.starts_with(prefix); });
}

// "c10::cuda::SetDevice" as it stands in mangled names: "3c104cuda9SetDevice".
std::string mangled_scope(std::string_view scoped) {
  std::string out;
  for (std::size_t at = 0; at <= scoped.size();) {
    std::size_t end = std::min(scoped.find("::", at), scoped.size());
    std::string_view part = scoped.substr(at, end - at);
    std::size_t tag = part.find("[abi:");
    std::string_view name = part.substr(0, tag);
    out += std::to_string(name.size()) + std::string(name);
    if (tag != std::string_view::npos) {
      std::string_view label = part.substr(tag + 5, part.size() - tag - 6);
      out += "B" + std::to_string(label.size()) + std::string(label);
    }
    at = end + 2;
  }
  return out;
}

std::string without_blanks(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c != ' ') out += c;
  }
  return out;
}

// The mangled name that a demangled one stands for, as far as torch's history knows it; the text
// itself when it does not.
std::string mangled_of(History& history, const std::string& readable) {
  std::string_view scoped = std::string_view(readable).substr(0, readable.find('('));
  std::size_t blank = scoped.rfind(' ');
  if (blank != std::string_view::npos) scoped.remove_prefix(blank + 1);
  if (scoped.find('<') != std::string_view::npos) return readable;
  std::string whole = mangled_scope(scoped);
  std::size_t last = scoped.rfind("::");
  std::string scope =
      last == std::string_view::npos ? whole : mangled_scope(scoped.substr(0, last));
  std::string best;
  for (std::string_view opener : {"_ZN", "_ZNK", "_ZTIN", "_ZTVN", "_ZNSt"}) {
    for (const std::string& body : {whole, scope}) {
      each_name(history, std::string(opener) + body,
                [&](std::string_view name, const std::vector<Export>&) {
                  std::string text = demangled(name);
                  bool same =
                      without_blanks(text) == without_blanks(readable) ||
                      without_blanks(text.substr(0, text.find('('))) == without_blanks(readable);
                  if (same && best.empty()) best = name;
                });
      if (!best.empty()) return best;
    }
  }
  return readable;
}

// The name that a symbol was before a terminal or a mail cut it, when it can only be one.
std::vector<std::string> completions(Knowledge& knowledge, const std::string& beginning) {
  std::vector<std::string> out;
  if (beginning.starts_with("_Z")) {
    each_name(knowledge.history, beginning, [&](std::string_view name, const auto&) {
      if (out.size() <= most_candidates) out.emplace_back(name);
    });
    return out;
  }
  for (const char* table : {"python", "nccl", "cudart", "libcuda", "cublas", "cublasLt"}) {
    const ExportTable* names = export_table(table);
    if (!names) continue;
    for (const auto& [name, bits] : names->names) {
      if (name.starts_with(beginning) && out.size() <= most_candidates) out.emplace_back(name);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

struct Name {
  std::string symbol;
  std::vector<std::string> candidates;  // when it was cut
};

Name name_of(Knowledge& knowledge, const Said& said) {
  Name name{part(said, "symbol"), {}};
  std::string& symbol = name.symbol;
  if (part(said, "system") == "macOS" && symbol.starts_with("_")) symbol.erase(0, 1);
  std::size_t at = symbol.find('@');
  if (at != std::string::npos && at > 0) symbol.resize(at);
  bool cut = symbol.ends_with("...") || symbol.ends_with("…");
  while (symbol.ends_with('.')) symbol.pop_back();
  if (symbol.find("::") != std::string::npos) symbol = mangled_of(knowledge.history, symbol);
  bool broken = symbol.starts_with("_Z") && !read_cxx_name(symbol);
  // A name may also be cut where what is left is one.
  bool unheard = covers(knowledge.history, symbol) && exports_of(knowledge.history, symbol).empty();
  if ((cut || broken || unheard) && symbol.size() > 6) {
    name.candidates = completions(knowledge, symbol);
    if (name.candidates.size() == 1 && (cut || broken)) {
      symbol = name.candidates.front();
      name.candidates.clear();
    }
  }
  return name;
}

bool in_namespace(std::string_view symbol, const std::vector<std::string>& namespaces) {
  std::string_view first;
  if (symbol.starts_with("_Z")) {
    each_identifier(symbol, [&](std::string_view word) {
      first = word;
      return false;
    });
  } else {
    first = symbol.substr(0, symbol.find("::"));
  }
  return std::find(namespaces.begin(), namespaces.end(), first) != namespaces.end();
}

bool is_torch_name(const Knowledge& knowledge, std::string_view symbol) {
  if (covers(knowledge.history, symbol)) return true;
  for (const FamilyRule& family : knowledge.rules.families) {
    if (family.kind != "torch") continue;
    if (starts_with_any(symbol, family.prefixes)) return true;
    bool cxx = symbol.starts_with("_Z") || symbol.find("::") != std::string_view::npos;
    if (cxx && in_namespace(symbol, family.namespaces)) return true;
  }
  return false;
}

const SymbolRule* rule_of(const Knowledge& knowledge, std::string_view symbol) {
  for (const SymbolRule& rule : knowledge.explain.symbols) {
    if (rule.owner == "CPython") continue;
    bool named = std::any_of(rule.names.begin(), rule.names.end(),
                             [&](const std::string& each) { return matches(each, symbol); });
    if (named || in_namespace(symbol, rule.namespaces)) return &rule;
  }
  return nullptr;
}

Explanation by_rule(Knowledge& knowledge, const Said& said, const SymbolRule& rule,
                    const std::string& symbol) {
  Explanation out;
  out.kind = rule.kind;
  Side wants = wanting_side(knowledge, said);
  Parts parts = said.parts;
  parts["symbol"] = demangled(symbol);
  parts["package"] = wants.owner.name.empty() ? "the package" : wants.owner.name;
  parts["version"] = wants.owner.version.empty() ? "(its release)" : wants.owner.version;
  out.sentence = filled(rule.say, parts).value_or(rule.say);
  out.forms.push_back({symbol, demangled(symbol), "", "", true});
  std::string release = installed_release(knowledge, rule.package);
  Side has{"has", rule.owner, {"pip package", rule.package, release}, ""};
  out.sides = {std::move(wants), std::move(has)};
  for (const MessageFix& fix : rule.fixes) {
    std::optional<std::string> say = filled(fix.say, parts), run = filled(fix.run, parts);
    if (say && run) {
      out.repairs.push_back({filled(fix.side, parts).value_or(fix.side), *say, *run});
    }
  }
  return out;
}

// Somebody's own name: nothing here knows whose.
Explanation of_nobody(Knowledge& knowledge, const Said& said, const std::string& symbol) {
  Explanation out;
  out.kind = "missing-symbol";
  Side wants = wanting_side(knowledge, said);
  out.sentence = (wants.what.empty() ? std::string("A library") : wants.what) + " needs " +
                 demangled(symbol) + ", which no library in the process exports";
  out.forms.push_back({symbol, demangled(symbol), "", "", true});
  out.unknown.push_back(
      "whose name it is: none of the tables of torch, CUDA, NCCL, CPython, "
      "glibc or libstdc++ holds it");
  std::string file = wants.what.empty() ? "FILE" : wants.what;
  out.shows = {"LD_DEBUG=libs,files python -c 'import MODULE' 2>&1 | tail -40",
               "wheelvet inspect " + file};
  out.sides.push_back(std::move(wants));
  return out;
}

}  // namespace

std::optional<Explanation> explain_symbol(Knowledge& knowledge, const Said& said) {
  Name name = name_of(knowledge, said);
  const std::string& symbol = name.symbol;
  if (symbol.empty()) return std::nullopt;
  std::optional<Explanation> out;
  bool standard = symbol.starts_with("_ZNSt") || symbol.starts_with("_ZNKSt") ||
                  symbol.starts_with("_ZSt") || symbol.starts_with("_ZTISt") ||
                  symbol.starts_with("_ZTVSt") || symbol.starts_with("_ZTINSt") ||
                  symbol.starts_with("__cxa_") || symbol.starts_with("__gxx_");
  if (symbol.starts_with("Py") || symbol.starts_with("_Py")) {
    out = explain_python_symbol(knowledge, said, symbol);
  } else if (standard) {
    out = explain_standard_symbol(knowledge, said, symbol);
  } else if (const SymbolRule* rule = rule_of(knowledge, symbol)) {
    out = by_rule(knowledge, said, *rule, symbol);
  } else if (is_torch_name(knowledge, symbol)) {
    out = explain_torch_symbol(knowledge, said, symbol);
  } else {
    out = explain_library_symbol(knowledge, said, symbol);
  }
  if (!out) out = of_nobody(knowledge, said, symbol);
  if (!name.candidates.empty()) {
    std::string text = "whether the name is cut off; names that begin so: ";
    for (std::size_t i = 0; i < name.candidates.size() && i < most_candidates; ++i) {
      text += (i ? ", " : "") + name.candidates[i];
    }
    out->unknown.push_back(std::move(text));
  }
  return out;
}

std::string part(const Said& said, std::string_view name) {
  auto found = said.parts.find(name);
  return found == said.parts.end() ? std::string() : found->second;
}

Side wanting_side(const Knowledge& knowledge, const Said& said) {
  Side side;
  side.role = "wants";
  side.what = part(said, "file");
  if (side.what.empty() && !said.frame.empty()) side.owner = owner_of_file(knowledge, said.frame);
  if (!side.what.empty()) side.owner = owner_of_file(knowledge, side.what);
  std::string package = part(said, "package");
  if (side.owner.name.empty() && !package.empty()) {
    side.owner = {"pip package", package, installed_release(knowledge, package)};
  }
  return side;
}

std::string paired_release(const Knowledge& knowledge, std::string_view package,
                           std::string_view torch) {
  for (const ReleasePair& rule : knowledge.explain.pairs) {
    if (rule.package != package) continue;
    for (const auto& [release, with] : rule.releases) {
      bool same =
          torch.starts_with(with) && (torch.size() == with.size() ||
                                      !(torch[with.size()] >= '0' && torch[with.size()] <= '9'));
      if (same) return release;
    }
  }
  return {};
}

}  // namespace wheelvet
