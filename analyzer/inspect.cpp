#include <elf.h>
#include <fmt/format.h>

#include "checks/coverage.h"
#include "checks/platform_floor.h"
#include "facts/bytes.h"
#include "facts/elf_headers.h"
#include "facts/file_kind.h"
#include "facts/metadata.h"
#include "facts/read_facts.h"
#include "link/demangle.h"
#include "link/lookup.h"
#include "link/scene.h"
#include "named_input.h"
#include "report/inspection.h"

namespace wheelvet {
namespace {

bool wanted(const InspectOptions& options, const InspectedSymbol& symbol) {
  return options.match.empty() || symbol.symbol.find(options.match) != std::string::npos ||
         symbol.readable.find(options.match) != std::string::npos;
}

void add_symbols(const ElfFacts& elf, const InspectOptions& options, InspectedFile& out) {
  VersionNames versions(elf);
  for (std::size_t i = 1; i < elf.symbols.count; ++i) {
    elf.symbols.expect(i + 16);
    Symbol symbol = elf.symbols.at(i);
    if (symbol.binding == STB_LOCAL || symbol.name.empty()) continue;
    bool import = symbol.section == SHN_UNDEF;
    bool needed = symbol.relocations != used_by_none;
    if (import) {
      ++out.imports;
      if (!needed) ++out.unneeded_imports;
      if (symbol.name == "__stack_chk_fail") out.canary = true;
      if (symbol.name.starts_with("__") && symbol.name.ends_with("_chk")) out.fortified = true;
      if (symbol.name.starts_with("Py") || symbol.name.starts_with("_Py")) ++out.python_imports;
    } else {
      ++out.exports;
    }
    if (!(import ? options.imports : options.exports)) continue;
    InspectedSymbol shown;
    shown.symbol = symbol.name;
    if (!options.mangled) shown.readable = demangled(symbol.name);
    shown.weak = symbol.binding == STB_WEAK;
    shown.needed = needed;
    if (std::optional<WantedVersion> version = versions.of(symbol.version)) {
      shown.version = version->name;
      shown.library = version->file;
    }
    if (wanted(options, shown)) out.listed.push_back(std::move(shown));
  }
}

bool has_segment(const ElfFacts& elf, std::uint32_t type) {
  for (std::size_t at = 0; at + sizeof(Elf64_Phdr) <= elf.program_headers.size();
       at += sizeof(Elf64_Phdr)) {
    if (load<Elf64_Phdr>(elf.program_headers, at, "program header").p_type == type) return true;
  }
  return false;
}

void add_elf(const FileFacts& file, const InspectOptions& options, InspectedFile& out) {
  const ElfFacts& elf = file.elf;
  out.machine = elf.machine == EM_X86_64 ? "x86-64" : "aarch64";
  out.size = elf.file_size;
  out.soname = elf.soname;
  out.needed = elf.needed;
  out.has_rpath = elf.rpath.has_value();
  out.has_runpath = elf.runpath.has_value();
  out.rpath = elf.rpath.value_or("");
  out.runpath = elf.runpath.value_or("");
  out.build_id = elf.build_id;
  if (is_module(file)) out.module = module_name(file.path);
  for (const VersionNeed& need : elf.version_needs) {
    for (const NeededVersion& version : need.versions) {
      out.version_needs[need.file].push_back(version.name);
      raise_floor(out.floors, version.name);
    }
  }
  for (const VersionDefinition& definition : elf.version_definitions) {
    if (!definition.base) out.version_definitions.push_back(definition.name);
  }
  out.symbols = elf.symbols.count;
  out.tls_size = elf.tls_size;
  // Without PT_GNU_STACK the stack is executable on x86-64 and not on aarch64 (glibc stackinfo.h).
  out.executable_stack =
      elf.stack_flags ? (*elf.stack_flags & PF_X) != 0 : elf.machine == EM_X86_64;
  out.writable_code = elf.writable_code;
  out.text_relocations = elf.text_relocations;
  out.relro = has_segment(elf, PT_GNU_RELRO);
  out.bind_now = (elf.flags & DF_BIND_NOW) != 0 || (elf.flags_1 & DF_1_NOW) != 0;
  add_symbols(elf, options, out);
  if (options.headers) out.headers = header_lines(elf);
}

void add_device(DeviceCode&& code, const DeviceRules& rules, const InspectOptions& options,
                const std::string& member, InspectedFile& out, std::vector<Problem>& problems) {
  out.with_device = options.device;
  out.with_kernels = options.kernels;
  out.device = std::move(code);
  for (Problem problem : out.device.problems) {
    problem.member = member;
    problems.push_back(std::move(problem));
  }
  std::map<std::tuple<ImageKind, std::uint16_t, char, std::string>, InspectedArch> all;
  for (const DeviceContainer& container : out.device.containers) {
    for (const DeviceImage& image : out.device.images_of(container)) {
      bool ptx = image.kind == ImageKind::ptx;
      std::string isa = ptx ? fmt::format("{}.{}", image.isa_major, image.isa_minor) : "";
      InspectedArch& row = all[{image.kind, image.arch, image.suffix, isa}];
      row.arch = arch_name(image);
      row.kind = to_string(image.kind);
      row.isa = isa;
      ++row.images;
      row.relocatable += image.relocatable;
      row.packed += image.packing != Packing::raw;
      row.bytes += image.size;
    }
  }
  for (auto& [key, row] : all) {
    const CudaRelease* release = row.isa.empty() ? nullptr : release_for_ptx(rules, row.isa);
    if (release) row.driver = release->driver;
    out.architectures.push_back(std::move(row));
  }
}

}  // namespace

Inspection inspect(const std::vector<std::string>& targets, const InspectOptions& options) {
  NamedFor wanted{options.python, options.platform, {}, options.show, false};
  std::vector<Input> inputs = open_named(targets, {}, wanted);
  ReadOptions reading;
  if (options.device) reading.device = DeviceDepth::headers;
  if (options.kernels) reading.device = DeviceDepth::kernels;
  Facts facts = read_facts(inputs, reading);
  Rules rules = load_rules();
  DeviceRules device_rules;
  if (options.device) device_rules = load_device_rules();
  Inspection out;
  for (InputFacts& input : facts.inputs) {
    const std::vector<Problem>* lists[] = {&inputs[input.input].problems, &input.problems};
    for (const auto* list : lists) {
      out.problems.insert(out.problems.end(), list->begin(), list->end());
    }
    // What a folder holds belongs to several packages: which of them needs what is not told here.
    bool single = input.packages.size() == 1 && inputs[input.input].kind != InputKind::folder;
    std::string floor = single ? lowest_policy(rules, input) : "";
    for (const PackageFacts& package : input.packages) {
      InspectedPackage& shown = out.packages.emplace_back();
      shown = {package.name,
               package.version,
               package.requires_python,
               floor,
               package.tags,
               package.requirements,
               {}};
      for (const EntryPoint& point : read_entry_points(package.entry_points)) {
        shown.entry_points.push_back(
            fmt::format("{}: {} = {}", point.group, point.name, point.target));
      }
    }
    std::string project = single ? normalised_name(input.packages[0].name) : "";
    std::vector<FileFacts*> files;
    for (FileFacts& file : input.files) files.push_back(&file);
    for (FileFacts& file : input.programs) files.push_back(&file);
    for (FileFacts* each : files) {
      FileFacts& file = *each;
      if (file.problem) {
        out.problems.push_back(*file.problem);
        continue;
      }
      InspectedFile& shown = out.files.emplace_back();
      shown.path = file.path;
      shown.kind = to_string(file.kind);
      if (file.kind == FileKind::elf) add_elf(file, options, shown);
      shown.bundled_from = bundled_from(file.path, project);
      if (options.device) {
        add_device(std::move(file.code), device_rules, options, file.member, shown, out.problems);
      }
    }
    for (DeviceFile& file : input.device_files) {
      InspectedFile& shown = out.files.emplace_back();
      shown.path = file.path;
      shown.kind = "device code";
      add_device(std::move(file.code), device_rules, options, file.member, shown, out.problems);
    }
  }
  return out;
}

}  // namespace wheelvet
