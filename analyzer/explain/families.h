// One function per family of messages. Each computes kind, sides and repairs from what the line
// names; nothing when it can say nothing, which is an answer of its own.
#pragma once

#include <optional>

#include "explain/knowledge.h"
#include "wheelvet/explanation.h"

namespace wheelvet {

/// A name that nobody exports (loader, linker).
std::optional<Explanation> explain_symbol(Knowledge& knowledge, const Said& said);
/// A name that torch exports, or should.
std::optional<Explanation> explain_torch_symbol(Knowledge& knowledge, const Said& said,
                                                const std::string& symbol);
/// A C name of CUDA, NCCL or cuDNN, or of the NVIDIA driver.
std::optional<Explanation> explain_library_symbol(Knowledge& knowledge, const Said& said,
                                                  const std::string& symbol);
std::optional<Explanation> explain_python_symbol(Knowledge& knowledge, const Said& said,
                                                 const std::string& symbol);
std::optional<Explanation> explain_standard_symbol(Knowledge& knowledge, const Said& said,
                                                   const std::string& symbol);

std::optional<Explanation> explain_library(Knowledge& knowledge, const Said& said);
std::optional<Explanation> explain_floor(Knowledge& knowledge, const Said& said);
std::optional<Explanation> explain_module(Knowledge& knowledge, const Said& said);
std::optional<Explanation> explain_driver(Knowledge& knowledge, const Said& said);
std::optional<Explanation> explain_gpu(Knowledge& knowledge, const Said& said);
std::optional<Explanation> explain_ptx(Knowledge& knowledge, const Said& said);
std::optional<Explanation> explain_arch(Knowledge& knowledge, const Said& said);
std::optional<Explanation> explain_header(Knowledge& knowledge, const Said& said);
std::optional<Explanation> explain_link(Knowledge& knowledge, const Said& said);
std::optional<Explanation> explain_toolkit(Knowledge& knowledge, const Said& said);
std::optional<Explanation> explain_versions(Knowledge& knowledge, const Said& said);
std::optional<Explanation> explain_pair(Knowledge& knowledge, const Said& said);
std::optional<Explanation> explain_operator(Knowledge& knowledge, const Said& said);
std::optional<Explanation> explain_variant(Knowledge& knowledge, const Said& said);
/// Messages that rules/messages.toml explains by itself.
std::optional<Explanation> explain_plain(Knowledge& knowledge, const Said& said);

/// A part of a message; empty when it has none of that name.
std::string part(const Said& said, std::string_view name);
/// The file that a message is about, as a side that wants something; without a name when the
/// message names none.
Side wanting_side(const Knowledge& knowledge, const Said& said);
/// The release of a package that belongs to a release of torch: "0.24" for torchvision, torch 2.9.
std::string paired_release(const Knowledge& knowledge, std::string_view package,
                           std::string_view torch);

}  // namespace wheelvet
