// Device code: containers in a stream of bytes, whatever the bytes before and around them.
#include <doctest/doctest.h>

#include <fstream>

#include "checks/coverage.h"
#include "device/cubin.h"
#include "device/device_code.h"
#include "device/device_note.h"
#include "device/ptx.h"
#include "device/scan.h"
#include "device/unpack.h"
#include "machine/host_gpus.h"
#include "support/made_device_code.h"
#include "support/temporary_folder.h"
#include "wheelvet/problem.h"

using namespace wheelvet;
using namespace wheelvet::test;

namespace {

// The file in pieces of `chunk` bytes, and read at any offset: both have to agree.
DeviceCode scan(const Blob& file, bool kernels = false, std::size_t chunk = 100) {
  DeviceScan stream(file.size(), kernels);
  for (std::size_t at = 0; at < file.size(); at += chunk) {
    stream.feed(Bytes(file).subspan(at, std::min(chunk, file.size() - at)));
  }
  DeviceCode streamed = stream.finish();
  DeviceCode read = scan_device_code(view_of(Bytes(file)), kernels);
  CHECK(streamed.containers == read.containers);
  CHECK(streamed.images == read.images);
  CHECK(streamed.names == read.names);
  CHECK(streamed.problems == read.problems);
  return streamed;
}

// "sm_90a" of every image.
std::vector<std::string> archs(const DeviceCode& code) {
  std::vector<std::string> out;
  for (const DeviceContainer& each : code.containers) {
    for (const DeviceImage& image : code.images_of(each)) out.push_back(arch_name(image));
  }
  return out;
}

using Names = std::vector<std::string>;

Blob after(std::size_t bytes, const Blob& blob) {
  Blob out(bytes, 0xcc);
  append(out, blob);
  return out;
}

MadeEntry ptx_entry(std::uint32_t arch, std::uint64_t flags = 0x11) {
  MadeEntry made;
  made.kind = 1;
  made.arch = arch;
  made.payload = ptx("9.1", "sm_" + std::to_string(arch));
  made.major = 9;
  made.minor = 1;
  made.flags = flags;
  return made;
}

MadeEntry cubin_entry(std::uint16_t arch, std::uint64_t flags = 0x11) {
  MadeEntry made;
  made.arch = arch;
  made.flags = flags;
  MadeCubin of;
  of.arch = arch;
  made.payload = cubin(of);
  return made;
}

}  // namespace

TEST_CASE(
    "every image of a container is found, at any multiple of eight and in pieces of any size") {
  Blob made = container({cubin_entry(90, 0x11 | specific), cubin_entry(100, 0x11 | family),
                         cubin_entry(80), ptx_entry(90)});
  for (std::size_t before : {0u, 8u, 264u}) {
    for (std::size_t chunk : {1u, 7u, 64u, 100000u}) {
      DeviceCode code = scan(after(before, made), true, chunk);
      CHECK(archs(code) == Names{"sm_90a", "sm_100f", "sm_80", "compute_90"});
      REQUIRE(code.containers.size() == 1);
      CHECK(code.containers[0].offset == before);
      CHECK(code.containers[0].size == made.size());
      CHECK(code.images[3].isa_major == 9);
      CHECK(code.images[3].isa_minor == 1);
      CHECK(code.problems.empty());
    }
  }
}

TEST_CASE("containers that follow each other are two") {
  Blob file = container({cubin_entry(80)});
  append(file, container({cubin_entry(120)}));
  CHECK(archs(scan(file)) == Names{"sm_80", "sm_120"});
  CHECK(scan(file).containers.size() == 2);
}

TEST_CASE("headers of entries may be longer than their fixed part") {
  MadeEntry wide = cubin_entry(90);
  wide.header_size = 144;
  CHECK(archs(scan(container({wide, cubin_entry(80)}))) == Names{"sm_90", "sm_80"});
}

TEST_CASE("the magic number in machine code is no container") {
  Blob code = {0x50, 0xed, 0x55, 0xba, 0x48, 0x89, 0xc7, 0xe8};
  code.resize(200, 0x90);
  CHECK(scan(code).problems.empty());
  CHECK(scan(code).containers.empty());
}

TEST_CASE("a container behind what only began like one is found") {
  Blob file = {0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0};  // no size
  file.resize(16);
  append(file, container({cubin_entry(90)}));
  CHECK(archs(scan(file)) == Names{"sm_90"});
}

TEST_CASE("a container that ends after the file is a problem") {
  Blob file = container({cubin_entry(90)});
  file.resize(file.size() - 8);
  DeviceCode code = scan(file);
  CHECK(code.containers.empty());
  REQUIRE(code.problems.size() == 1);
  CHECK(code.problems[0].field == "fatbin header");
}

TEST_CASE("an entry that leaves its container is a problem, and the next container is read") {
  Blob file = container({cubin_entry(90)});
  file[16 + 8] = 0xf8;  // the payload's size
  file[16 + 9] = 0xff;
  std::size_t bad = file.size();
  append(file, container({cubin_entry(80)}));
  DeviceCode code = scan(file);
  CHECK(archs(code) == Names{"sm_80"});
  REQUIRE(code.problems.size() == 1);
  CHECK(code.problems[0].offset == 16u);
  CHECK(code.containers[0].offset == bad);
}

TEST_CASE("entries that do not end at the end of their container are a problem") {
  Blob file = container({cubin_entry(90)});
  file[8] = static_cast<std::uint8_t>(file[8] + 8);  // the container's size
  file.resize(file.size() + 8);
  CHECK(scan(file).containers.empty());
  CHECK(scan(file).problems.size() == 1);
}

TEST_CASE("the first cubin tells whether the cubins of a container have to be linked") {
  MadeEntry made = cubin_entry(90);
  MadeCubin of;
  of.relocatable = true;
  made.payload = cubin(of);
  DeviceCode code = scan(container({made, made}));
  CHECK(code.images[0].relocatable);
  CHECK(code.images[1].relocatable);
  CHECK_FALSE(scan(container({cubin_entry(90)})).images[0].relocatable);
}

TEST_CASE("kernels are read from one image of each container") {
  MadeEntry first = cubin_entry(90);
  MadeCubin of;
  of.kernels = {"one", "two"};
  first.payload = cubin(of);
  Blob file = container({first, cubin_entry(80)});
  append(file, container({ptx_entry(90)}));
  DeviceCode code = scan(file, true);
  CHECK(code.names == Names{"one", "two", "kernel"});
  CHECK(code.kernels_of(code.containers[0]).size() == 2);
  CHECK(code.kernels_of(code.containers[1]).size() == 1);
  CHECK(scan(file, false).names.empty());
}

TEST_CASE("the text of PTX goes before what its entry says") {
  MadeEntry made = ptx_entry(90);
  made.payload = ptx("8.8", "sm_100f, texmode_independent");
  DeviceCode code = scan(container({made}), true);
  CHECK(archs(code) == Names{"compute_100f"});
  CHECK(code.images[0].isa_minor == 8);
}

TEST_CASE("a cubin by itself tells its architecture in either layout") {
  for (bool old_layout : {false, true}) {
    MadeCubin made;
    made.arch = 103;
    made.old_layout = old_layout;
    DeviceCode code = scan(after(24, cubin(made)), true);
    REQUIRE(code.containers.size() == 1);
    CHECK(code.containers[0].carrier == Carrier::cubin);
    CHECK(code.containers[0].offset == 24);
    CHECK(archs(code) == Names{"sm_103"});
    CHECK(code.names == Names{"kernel"});
  }
}

TEST_CASE("the suffix of a cubin by itself stands in its notes") {
  MadeCubin made;
  made.compat = 1;
  CHECK(read_cubin(cubin(made)).suffix == 'a');
  made.compat = 0;
  made.command = "ptxas -arch sm_100f -m 64";
  CHECK(read_cubin(cubin(made)).suffix == 'f');
  made.command = "ptxas -arch sm_100 -m 64";
  CHECK(read_cubin(cubin(made)).suffix == 0);
}

TEST_CASE("an ELF file of another machine is no cubin") {
  Blob file = cubin();
  file[18] = 62;  // EM_X86_64
  CHECK(scan(file).containers.empty());
}

TEST_CASE("symbols of a cubin that share one long name do not add up") {
  MadeCubin made;
  made.kernels = {std::string(100000, 'k')};
  for (int i = 0; i < 1000; ++i) made.kernels.emplace_back();
  Blob bytes = cubin(made);
  // All symbols name the long string: 100 MB of names in a file of 124 kB.
  std::size_t symbols = sizeof(Elf64_Ehdr) + 1 + 100001 + 1000;
  for (std::size_t i = 1; i <= 1001; ++i) bytes[symbols + i * sizeof(Elf64_Sym)] = 1;
  for (std::size_t i = 1; i <= 1001; ++i) {
    for (std::size_t k = 1; k < 4; ++k) bytes[symbols + i * sizeof(Elf64_Sym) + k] = 0;
  }
  CHECK_THROWS_AS(read_cubin(bytes), Unreadable);
}

TEST_CASE("what says to be larger than 16 MiB unpacked is not unpacked") {
  Blob few(100, 1);
  CHECK_THROWS_AS(unpack(few, Packing::zstd, std::uint64_t{1} << 40), Unreadable);
  CHECK_THROWS_AS(unpack(few, Packing::lz4, 1000), Unreadable);
  CHECK_THROWS_AS(unpack(few, Packing::zstd, 1000), Unreadable);
  MadeEntry made = cubin_entry(90, 0x11 | zstd);
  made.unpacked = std::uint64_t{1} << 40;
  DeviceCode code = scan(container({made}), true);
  CHECK(archs(code) == Names{"sm_90"});
  CHECK(code.names.empty());
}

TEST_CASE("data that is not what its header says is a problem of the kernels, not of the image") {
  MadeEntry made = cubin_entry(90, 0x11 | lz4);
  made.payload = Blob(64, 0xff);
  made.unpacked = 5000;
  DeviceCode code = scan(container({made}), true);
  CHECK(archs(code) == Names{"sm_90"});
  CHECK(code.problems.size() == 1);
  CHECK(scan(container({made}), false).problems.empty());
}

TEST_CASE(
    "a file full of what begins like zstd frames is read in time, and what follows it is found") {
  Blob file;
  while (file.size() < (3u << 20)) {
    // Single segment, 1 byte of content size, and a raw block of 128 kB that hides the next one.
    append(file, Blob{0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x80, 0x00, 0x00});
  }
  append(file, container({cubin_entry(90)}));
  CHECK(archs(scan(file, false, 65536)) == Names{"sm_90"});
}

TEST_CASE("code outside of what the loader maps does not count") {
  Blob file = after(64, container({cubin_entry(90)}));
  DeviceCode code = scan(file);
  ElfFacts elf;
  Elf64_Phdr segment{};
  segment.p_type = PT_LOAD;
  segment.p_filesz = file.size();
  auto mapped = [&](std::uint64_t size) {
    segment.p_filesz = size;
    elf.program_headers.assign(reinterpret_cast<std::uint8_t*>(&segment),
                               reinterpret_cast<std::uint8_t*>(&segment) + sizeof segment);
    DeviceCode own = code;
    keep_loaded(elf, own);
    return own.containers.size();
  };
  CHECK(mapped(file.size()) == 1);
  CHECK(mapped(file.size() - 1) == 0);
}

TEST_CASE("PTX without a version or a target is unreadable") {
  CHECK_THROWS_AS(read_ptx(".target sm_90"), Unreadable);
  CHECK_THROWS_AS(read_ptx(".version 9.0\n.target x"), Unreadable);
  CHECK(read_ptx(".version 8.8\n.target sm_90a").suffix == 'a');
}

TEST_CASE("the note of a stub holds all that was read") {
  MadeEntry made = cubin_entry(90, 0x11 | specific);
  Blob file = container({made, ptx_entry(80)});
  append(file, container({cubin_entry(100)}));
  DeviceCode code = scan(file, true);
  code.problems.push_back({{}, {}, "field", 7, "reason"});
  DeviceCode again = read_device_note(write_device_note(code));
  CHECK(again.containers == code.containers);
  CHECK(again.images == code.images);
  CHECK(again.kernels == code.kernels);
  CHECK(again.names == code.names);
  CHECK(again.problems == code.problems);
  CHECK(again.read);
}

TEST_CASE("every prefix of a stub's note is unreadable") {
  std::vector<std::uint8_t> note = write_device_note(scan(container({cubin_entry(90)}), true));
  for (std::size_t n = 0; n < note.size(); ++n) {
    CHECK_THROWS_AS(read_device_note(Bytes(note).first(n)), Unreadable);
  }
}

// ---- which code runs where ---------------------------------------------------------------------

namespace {

Service service(const DeviceImage& image, std::uint16_t gpu) {
  static const DeviceRules rules = load_device_rules();
  return service_of(image, gpu, rules);
}

DeviceImage image(ImageKind kind, std::uint16_t arch, char suffix = 0) {
  DeviceImage out;
  out.kind = kind;
  out.arch = arch;
  out.suffix = suffix;
  return out;
}

}  // namespace

TEST_CASE("machine code runs on its major from its minor on") {
  CHECK(service(image(ImageKind::cubin, 80), 80) == Service::own);
  CHECK(service(image(ImageKind::cubin, 80), 86) == Service::older);
  CHECK(service(image(ImageKind::cubin, 86), 80) == Service::unserved);
  CHECK(service(image(ImageKind::cubin, 80), 90) == Service::unserved);
  CHECK(service(image(ImageKind::cubin, 120), 121) == Service::older);
  CHECK(service(image(ImageKind::cubin, 100), 120) == Service::unserved);
  CHECK(service(image(ImageKind::cubin, 100), 110) == Service::unserved);
}

TEST_CASE("machine code of desktop parts is not promised to run on Tegra") {
  CHECK(service(image(ImageKind::cubin, 80), 87) == Service::unserved);
  CHECK(service(image(ImageKind::cubin, 87), 87) == Service::own);
  CHECK(service(image(ImageKind::cubin, 87), 89) == Service::unserved);
}

TEST_CASE("architecture-specific code runs on its architecture alone") {
  CHECK(service(image(ImageKind::cubin, 90, 'a'), 90) == Service::own);
  CHECK(service(image(ImageKind::cubin, 100, 'a'), 103) == Service::unserved);
  CHECK(service(image(ImageKind::ptx, 90, 'a'), 90) == Service::compiled);
  CHECK(service(image(ImageKind::ptx, 90, 'a'), 100) == Service::unserved);
}

TEST_CASE("family code runs upwards in its family") {
  CHECK(service(image(ImageKind::cubin, 100, 'f'), 103) == Service::family);
  CHECK(service(image(ImageKind::cubin, 103, 'f'), 100) == Service::unserved);
  CHECK(service(image(ImageKind::cubin, 120, 'f'), 121) == Service::family);
  CHECK(service(image(ImageKind::cubin, 100, 'f'), 120) == Service::unserved);
  CHECK(service(image(ImageKind::ptx, 120, 'f'), 121) == Service::compiled);
}

TEST_CASE("PTX is compiled for any later GPU") {
  CHECK(service(image(ImageKind::ptx, 80), 120) == Service::compiled);
  CHECK(service(image(ImageKind::ptx, 120), 90) == Service::unserved);
}

TEST_CASE("code to be linked first, and LTO-IR, serve nobody as they are") {
  DeviceImage linked = image(ImageKind::cubin, 90);
  linked.relocatable = true;
  CHECK(service(linked, 90) == Service::unserved);
  CHECK(service(image(ImageKind::lto_ir, 90), 90) == Service::unserved);
}

TEST_CASE("PTX beside cubins that have to be linked is not judged, nor is code without a kernel") {
  MadeEntry made = cubin_entry(90);
  MadeCubin of;
  of.relocatable = true;
  made.payload = cubin(of);
  DeviceCode code = scan(container({made, ptx_entry(80)}), true);
  CHECK_FALSE(is_judged(code.containers[0], code));
  of.relocatable = false;
  of.kernels.clear();
  made.payload = cubin(of);
  code = scan(container({made}), true);
  CHECK_FALSE(is_judged(code.containers[0], code));
  code = scan(container({made}), false);
  CHECK(is_judged(code.containers[0], code));  // whether it has kernels is not known
}

TEST_CASE("no container vouches for another, unless it has the same kernels") {
  DeviceRules rules = load_device_rules();
  MadeCubin one, other;
  one.kernels = {"one"};
  other.kernels = {"other"};
  MadeEntry for_90 = cubin_entry(90), for_120 = cubin_entry(120);
  for_90.payload = cubin(one);
  for_120.payload = cubin(other);
  Blob file = container({for_90});
  append(file, container({for_120}));
  LibraryCoverage apart = cover("lib.so", scan(file, true), 120, rules);
  CHECK(apart.containers == 2);
  CHECK(apart.own == 1);
  CHECK(apart.unserved == 1);
  CHECK(apart.examples == Names{"one"});
  CHECK(apart.portable_gaps == 0);
  for_120.payload = cubin(one);
  file = container({for_90});
  append(file, container({for_120}));
  LibraryCoverage same = cover("lib.so", scan(file, true), 120, rules);
  CHECK(same.unserved == 0);
  CHECK(same.elsewhere == 1);
}

TEST_CASE("plain code for several majors was meant for all that the library serves") {
  Blob file = container({cubin_entry(80), cubin_entry(90)});
  MadeCubin other;
  other.kernels = {"other"};
  MadeEntry more = cubin_entry(120);
  more.payload = cubin(other);
  append(file, container({more}));
  CHECK(cover("lib.so", scan(file, true), 120, load_device_rules()).portable_gaps == 1);
}

TEST_CASE("a GPU is named by architecture or product") {
  DeviceRules rules = load_device_rules();
  for (const char* text : {"sm_120", "120", "12.0", "RTX PRO 6000 Blackwell",
                           "NVIDIA RTX PRO 6000 Blackwell Server Edition"}) {
    CAPTURE(text);
    CHECK(read_gpu(text, rules).name == "sm_120");
  }
  CHECK(read_gpu("H100", rules).arch == 90);
  CHECK(read_gpu("NVIDIA H200", rules).arch == 90);
  CHECK(read_gpu("NVIDIA H100 80GB HBM3", rules).arch == 90);
  CHECK(read_gpu("B200", rules).arch == 100);
  CHECK(read_gpu("GB10", rules).arch == 121);
  CHECK(read_gpu("L40S", rules).arch == 89);
  CHECK(read_gpu("NVIDIA GeForce RTX 4090", rules).arch == 89);
  CHECK(read_gpu("NVIDIA GeForce RTX 2080 Ti", rules).arch == 75);
  CHECK(read_gpu("NVIDIA A100-SXM4-80GB", rules).arch == 80);
  CHECK_THROWS_AS(read_gpu("sm_90a", rules), WrongUsage);
  CHECK_THROWS_AS(read_gpu("GeForce", rules), WrongUsage);
  CHECK_THROWS_AS(read_gpu("", rules), WrongUsage);
}

TEST_CASE("PTX takes the driver of the CUDA release that knows its version") {
  DeviceRules rules = load_device_rules();
  CHECK(release_for_ptx(rules, "9.0")->driver == "580.65.06");
  CHECK(release_for_ptx(rules, "8.6")->driver == "570.26");  // no toolkit and no driver of 12.7
  CHECK(release_for_ptx(rules, "99.0") == nullptr);
  CHECK(release_for_gpu(rules, 120)->driver == "570.26");
}

TEST_CASE("this machine's GPUs are what the driver's files show") {
  TemporaryFolder folder;
  folder.put("/version",
             "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release\n");
  folder.put("/gpus/0000:01:00.0/information", "Model: \t\t NVIDIA H200\nIRQ: 1\n");
  HostGpus host = find_host_gpus(folder.path());
  CHECK(host.driver == "580.65.06");
  CHECK(host.products == Names{"NVIDIA H200"});
  CHECK_THROWS_AS(find_host_gpus(folder.path() + "/none"), Unreadable);
}
