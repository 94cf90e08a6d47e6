#include <fmt/format.h>

#include <iterator>

#include "report/inspection.h"
#include "report/printable.h"
#include "report/style.h"

namespace wheelvet {
namespace {

std::string joined(const std::vector<std::string>& values, std::string_view separator = ", ") {
  std::vector<std::string> shown;
  for (const std::string& value : values) shown.push_back(printable(value));
  return fmt::format("{}", fmt::join(shown, separator));
}

void line(std::string& out, std::string_view label, const std::string& text) {
  if (!text.empty()) out += fmt::format("    {:<10}{}\n", label, text);
}

void add_symbol(std::string& out, const InspectedSymbol& symbol) {
  auto to = std::back_inserter(out);
  fmt::format_to(to, "    {}{}{}", printable(symbol.symbol), symbol.version.empty() ? "" : "@",
                 printable(symbol.version));
  if (!symbol.library.empty()) fmt::format_to(to, "  {}", printable(symbol.library));
  out += symbol.weak ? "  weak\n" : "\n";
  if (!symbol.readable.empty() && symbol.readable != symbol.symbol) {
    fmt::format_to(to, "        {}\n", printable(symbol.readable));
  }
}

std::string flags_of(const InspectedFile& file) {
  std::vector<std::string> flags;
  if (file.relro) flags.emplace_back(file.bind_now ? "full RELRO" : "partial RELRO");
  if (file.bind_now) flags.emplace_back("bind now");
  if (file.canary) flags.emplace_back("stack canary");
  if (file.fortified) flags.emplace_back("fortified");
  if (file.executable_stack) flags.emplace_back("executable stack");
  if (file.writable_code) flags.emplace_back("writable code");
  if (file.text_relocations) flags.emplace_back("text relocations");
  if (file.tls_size)
    flags.push_back(fmt::format("{} bytes of thread-local storage", file.tls_size));
  return fmt::format("{}", fmt::join(flags, ", "));
}

void add_architecture(std::string& out, const InspectedArch& row) {
  std::string text = fmt::format("{:<16} {:>6} {}{}  {} bytes", row.arch, row.images, row.kind,
                                 row.images == 1 || row.kind != "cubin" ? " " : "s", row.bytes);
  if (row.packed) text += fmt::format(", {} packed", row.packed);
  if (row.relocatable) text += fmt::format(", {} to be linked", row.relocatable);
  if (!row.isa.empty()) {
    text += fmt::format(", PTX {} ({})", row.isa,
                        row.driver.empty() ? "newer than any driver known here"
                                           : "driver " + row.driver + " or newer");
  }
  line(out, " ", text);
}

// Kernels by container, as the linker put them together.
void add_kernels(std::string& out, const DeviceCode& code) {
  for (const DeviceContainer& container : code.containers) {
    std::vector<std::string> archs;
    for (const DeviceImage& image : code.images_of(container)) archs.push_back(arch_name(image));
    out += fmt::format("    container at {}: {}{}\n", container.offset, fmt::join(archs, " "),
                       container.kernels_read ? "" : "  (its kernels were not read)");
    for (std::uint32_t kernel : code.kernels_of(container)) {
      out += fmt::format("        {}\n", printable(code.names[kernel]));
    }
  }
}

void add_device(std::string& out, const InspectedFile& file) {
  if (!file.with_device) return;
  const DeviceCode& code = file.device;
  if (code.containers.empty()) {
    line(out, "device", code.read ? "no device code" : "not in this stub");
    return;
  }
  std::size_t images = 0;
  for (const DeviceContainer& container : code.containers) images += container.images;
  line(out, "device",
       fmt::format("{} container{} with {} image{}", code.containers.size(),
                   code.containers.size() == 1 ? "" : "s", images, images == 1 ? "" : "s"));
  for (const InspectedArch& row : file.architectures) add_architecture(out, row);
  if (file.with_kernels) add_kernels(out, code);
}

void add_file(std::string& out, const InspectedFile& file, const Style& style) {
  out += fmt::format("\n  {}", style.bold(printable(file.path)));
  if (file.machine.empty()) {
    out += fmt::format("  {}\n", file.kind);
    add_device(out, file);
    return;
  }
  out += fmt::format("  {}, {} bytes{}\n", file.machine, file.size,
                     file.module.empty() ? "" : ", Python module " + printable(file.module));
  line(out, "soname", printable(file.soname));
  line(out, "bundled", printable(file.bundled_from));
  line(out, "needed", joined(file.needed));
  if (file.has_rpath) line(out, "rpath", printable(file.rpath));
  if (file.has_runpath) line(out, "runpath", printable(file.runpath));
  for (const auto& [name, versions] : file.version_needs) {
    line(out, "versions", fmt::format("{}: {}", printable(name), joined(versions, " ")));
  }
  line(out, "defines", joined(file.version_definitions, " "));
  std::vector<std::string> floors;
  for (const auto& [prefix, number] : file.floors) {
    floors.push_back(printable(prefix + "_" + number));
  }
  line(out, "floor", fmt::format("{}", fmt::join(floors, ", ")));
  line(out, "symbols",
       fmt::format("{} imported ({} that no relocation needs, {} of Python), {} exported",
                   file.imports, file.unneeded_imports, file.python_imports, file.exports));
  line(out, "flags", flags_of(file));
  line(out, "build id", printable(file.build_id));
  add_device(out, file);
  for (const std::string& header : file.headers) out += fmt::format("    {}\n", printable(header));
  for (const InspectedSymbol& symbol : file.listed) add_symbol(out, symbol);
}

}  // namespace

std::string render_text(const Inspection& inspection, bool color) {
  Style style(color);
  std::string out;
  for (const InspectedPackage& package : inspection.packages) {
    out += fmt::format("{} {}\n", style.bold(printable(package.name)), printable(package.version));
    line(out, "python", printable(package.requires_python));
    line(out, "tags", joined(package.tags));
    line(out, "fits", printable(package.platform_floor));
    for (const std::string& requirement : package.requirements) {
      line(out, "requires", printable(requirement));
    }
    for (const std::string& point : package.entry_points) line(out, "entry", printable(point));
  }
  for (const InspectedFile& file : inspection.files) add_file(out, file, style);
  for (const Problem& problem : inspection.problems) {
    out += fmt::format("\n  {}  {}\n", style.red("problem"), to_line(problem));
  }
  return out;
}

}  // namespace wheelvet
