#include "link/demangle.h"

#include <llvm/Demangle/ItaniumDemangle.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <unordered_map>

namespace wheelvet {
namespace {

using llvm::itanium_demangle::ForwardTemplateReference;
using llvm::itanium_demangle::FunctionEncoding;
using llvm::itanium_demangle::Node;
using llvm::itanium_demangle::NodeArray;
using llvm::itanium_demangle::OutputBuffer;
using llvm::itanium_demangle::ParameterPack;
using llvm::itanium_demangle::ParameterPackExpansion;

// The parser recurses once or twice per character: 2 KiB stay far from the end of an 8 MB stack,
// also with the larger frames of a sanitizer. Longer names are cutlass kernels and lambdas, which
// nobody imports.
constexpr std::size_t max_input = 2u << 10;
constexpr std::uint64_t max_output = 64u << 10;
constexpr std::size_t max_arena = 4u << 20;

struct OverLimit {};

// Nodes live in one arena, thrown away with the parser. Their destructors are trivial in effect.
class Arena {
 public:
  void reset() {
    blocks_.clear();
    used_ = left_ = 0;
  }
  template <class T, class... Args>
  T* makeNode(Args&&... args) {
    return new (take(sizeof(T))) T(std::forward<Args>(args)...);
  }
  // On some malformed lambda types the parser asks for a list that ends before it begins: a count
  // near 2^64, which must not be multiplied.
  void* allocateNodeArray(std::size_t count) {
    if (count > max_arena / sizeof(Node*)) throw OverLimit{};
    return take(sizeof(Node*) * std::max<std::size_t>(count, 1));
  }

 private:
  void* take(std::size_t size) {
    size = (size + 15) & ~std::size_t{15};
    if (used_ + size > max_arena) throw OverLimit{};
    if (left_ < size) {
      std::size_t block = std::max<std::size_t>(size, 16u << 10);
      blocks_.push_back(std::make_unique<std::byte[]>(block));
      next_ = blocks_.back().get();
      left_ = block;
    }
    std::byte* at = next_;
    next_ += size;
    left_ -= size;
    used_ += size;
    return at;
  }
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::byte* next_ = nullptr;
  std::size_t left_ = 0, used_ = 0;
};

// An upper bound of what printing a node gives out and visits. The tree shares nodes, so the bound
// is computed once per node, in time linear in the input, before anything is printed.
class PrintBound {
 public:
  std::uint64_t of(const Node* node) {
    if (!node) return 0;
    if (auto known = bounds_.find(node); known != bounds_.end()) return known->second;
    bounds_[node] = max_output;  // a cycle through a forward reference counts as over the limit
    std::uint64_t total = 8;
    node->visit([&](const auto* concrete) { total = add(total, children(*concrete)); });
    bounds_[node] = total;
    return total;
  }

 private:
  static std::uint64_t add(std::uint64_t a, std::uint64_t b) {
    return std::min<std::uint64_t>(a + b, max_output + 1);
  }

  template <class Concrete>
  std::uint64_t children(const Concrete& node) {
    if constexpr (std::is_same_v<Concrete, ForwardTemplateReference>) {
      return of(node.Ref);
    } else {
      std::uint64_t total = 0;
      node.match([&](const auto&... parts) { ((total = add(total, part(parts))), ...); });
      if constexpr (std::is_same_v<Concrete, ParameterPackExpansion>) {
        total = std::min<std::uint64_t>(total * std::max<std::uint64_t>(1, widest_pack_),
                                        max_output + 1);
      }
      return total;
    }
  }

  std::uint64_t part(const Node* node) { return of(node); }
  std::uint64_t part(std::string_view text) { return text.size(); }
  std::uint64_t part(NodeArray nodes) {
    widest_pack_ = std::max<std::uint64_t>(widest_pack_, nodes.size());
    std::uint64_t total = 0;
    for (const Node* node : nodes) total = add(total, of(node) + 2);
    return total;
  }
  // Not for `Node*`, which a template would take before the overload for `const Node*` gets its
  // turn.
  template <class Other>
  requires(!std::is_convertible_v<Other, const Node*>) std::uint64_t part(const Other&) {
    return 24;  // numbers, flags, qualifiers
  }

  std::unordered_map<const Node*, std::uint64_t> bounds_;
  std::uint64_t widest_pack_ = 1;
};

std::string print(const Node* node) {
  OutputBuffer out;
  node->print(out);
  std::string text(out.getBuffer(), out.getCurrentPosition());
  std::free(out.getBuffer());
  return text;
}

std::string qualifier_text(const FunctionEncoding& function) {
  std::string text;
  unsigned qualifiers = function.getCVQuals();
  if (qualifiers & llvm::itanium_demangle::QualConst) text += " const";
  if (qualifiers & llvm::itanium_demangle::QualVolatile) text += " volatile";
  if (function.getRefQual() == llvm::itanium_demangle::FrefQualLValue) text += " &";
  if (function.getRefQual() == llvm::itanium_demangle::FrefQualRValue) text += " &&";
  return text;
}

std::optional<CxxName> take_apart(std::string_view mangled) {
  llvm::itanium_demangle::ManglingParser<Arena> parser(mangled.data(),
                                                       mangled.data() + mangled.size());
  const Node* root = parser.parse();
  if (!root || PrintBound().of(root) > max_output) return std::nullopt;
  CxxName name;
  name.text = print(root);
  if (root->getKind() != Node::KFunctionEncoding) {
    name.scoped = name.text;
    return name;
  }
  const auto& function = *static_cast<const FunctionEncoding*>(root);
  name.function = true;
  name.scoped = print(function.getName());
  name.qualifiers = qualifier_text(function);
  for (const Node* parameter : function.getParams()) {
    std::string text = print(parameter);
    if (!text.empty()) name.parameters.push_back(std::move(text));  // an empty pack prints nothing
  }
  return name;
}

}  // namespace

std::optional<CxxName> read_cxx_name(std::string_view mangled) {
  if (!mangled.starts_with("_Z") || mangled.size() > max_input) return std::nullopt;
  try {
    return take_apart(mangled);
  } catch (const OverLimit&) {
    return std::nullopt;
  }
}

std::string demangled(std::string_view name) {
  std::optional<CxxName> cxx = read_cxx_name(name);
  return cxx ? cxx->text : std::string(name);
}

std::vector<std::string_view> identifiers(std::string_view mangled) {
  std::vector<std::string_view> out;
  each_identifier(mangled, [&](std::string_view word) {
    out.push_back(word);
    return true;
  });
  return out;
}

namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
    text.replace(at, from.size(), to);
    at += to.size();
  }
}

}  // namespace

std::string without_string_abi(std::string text) {
  replace_all(text,
              "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char>>",
              "std::string");
  replace_all(text, "std::basic_string<char, std::char_traits<char>, std::allocator<char>>",
              "std::string");
  replace_all(text, "[abi:cxx11]", "");
  replace_all(text, "std::__cxx11::", "std::");
  return text;
}

}  // namespace wheelvet
