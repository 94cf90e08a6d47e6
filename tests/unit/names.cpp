// Names: of packages, wheels, members, requirements, modules and paths.
#include <doctest/doctest.h>

#include "checks/alternatives.h"
#include "checks/explain.h"
#include "facts/metadata.h"
#include "link/scene.h"
#include "link/search_path.h"

using namespace wheelvet;

using Texts = std::vector<std::string>;
using Pair = std::pair<std::string, std::string>;

TEST_CASE("project names are normalised as PEP 503 says") {
  CHECK(normalised_name("Foo.Bar_baz") == "foo-bar-baz");
  CHECK(normalised_name("a-_.b") == "a-b");
  CHECK(normalised_name("") == "");
}

TEST_CASE("headers end at the first empty line and join their continuations") {
  auto headers = read_headers("Name: a\nSummary: one\n  two\r\nX:y\n\nName: body\n");
  REQUIRE(headers.size() == 3);
  CHECK(headers[0] == Pair{"name", "a"});
  CHECK(headers[1] == Pair{"summary", "one\ntwo"});
  CHECK(headers[2] == Pair{"x", "y"});
  CHECK(read_headers("License: one\n   \n  two\nName: a\n\n").back().second == "a");
  CHECK(read_headers("").empty());
  CHECK(read_headers("no colon\n continuation of nothing").empty());
  CHECK(read_headers("\nName: late").empty());
}

TEST_CASE("METADATA gives name, version and every requirement") {
  PackageFacts package;
  add_metadata(
      "Metadata-Version: 2.1\r\nName: torch\r\nVersion: 2.10.0\r\nRequires-Dist: a>=1\r\n"
      "Requires-Dist: b; extra == 'x'\r\nRequires-Python: >=3.10\r\n\r\nVersion: 9\r\n",
      package);
  CHECK(package.name == "torch");
  CHECK(package.version == "2.10.0");
  CHECK(package.requirements == Texts{"a>=1", "b; extra == 'x'"});
  CHECK(package.requires_python == ">=3.10");
}

TEST_CASE("WHEEL gives the tags and replaces those of the file name") {
  PackageFacts package;
  package.tags = {"old"};
  add_wheel_file(
      "Wheel-Version: 1.0\nRoot-Is-Purelib: False\nTag: cp312-cp312-linux_x86_64\nTag: b\n",
      package);
  CHECK(package.tags == Texts{"cp312-cp312-linux_x86_64", "b"});
  CHECK_FALSE(package.pure);
  add_wheel_file("Root-Is-Purelib: true\n", package);
  CHECK(package.pure);
}

TEST_CASE("RECORD gives the first one and two folders, each once and sorted") {
  PackageFacts package;
  add_record(
      "torch/a.py,sha256=x,1\ntorch/lib/b.so,,\n\"we,ird/x\",,\n../../bin/tool,,\nmod.py,,\n",
      package);
  CHECK(package.top_level == Texts{"mod.py", "torch", "torch/a.py", "torch/lib", "we"});
}

TEST_CASE("a wheel name has five or six parts and its tag sets are expanded") {
  WheelName plain = read_wheel_name("sgl_kernel-0.3.21-cp310-abi3-manylinux2014_x86_64.whl");
  CHECK(plain.name == "sgl_kernel");
  CHECK(plain.version == "0.3.21");
  CHECK(plain.build.empty());
  CHECK(plain.tags == Texts{"cp310-abi3-manylinux2014_x86_64"});
  WheelName built = read_wheel_name("torch-2.10.0-3-cp312-cp312-manylinux_2_28_x86_64.whl");
  CHECK(built.build == "3");
  CHECK(built.tags == Texts{"cp312-cp312-manylinux_2_28_x86_64"});
  WheelName sets = read_wheel_name("a-1-py2.py3-none-x.y.whl");
  CHECK(sets.tags == Texts{"py2-none-x", "py2-none-y", "py3-none-x", "py3-none-y"});
  for (const char* bad : {"", ".whl", "a-1.whl", "a-b-c-d.whl", "a-1-2-3-4-5-6.whl",
                          "a-1-py3-none-any.zip", "a-1-py3-none-any"}) {
    CAPTURE(bad);
    CHECK(read_wheel_name(bad).name.empty());
  }
}

TEST_CASE("a member lands where its .data scheme says") {
  CHECK(installed_path("torch/lib/libc10.so") == "torch/lib/libc10.so");
  CHECK(installed_path("a-1.data/purelib/a/x.so") == "a/x.so");
  CHECK(installed_path("a-1.data/platlib/a/x.so") == "a/x.so");
  CHECK(installed_path("tbb-1.data/data/lib/libtbb.so.12") == "../../../lib/libtbb.so.12");
  CHECK(installed_path("a-1.data/scripts/tool") == "../../../bin/tool");
  CHECK(may_be_program("a-1.data/scripts/tool.py"));
  CHECK(may_be_program("a/bin/tool"));
  CHECK_FALSE(may_be_program("a/lib.so"));
  CHECK_FALSE(may_be_program("a/bin/tool.txt"));
  CHECK_FALSE(may_be_program("a-1.dist-info/METADATA"));
  CHECK(installed_path("deep/a.data/purelib/x.so") == "deep/a.data/purelib/x.so");
  CHECK(installed_path("x.data") == "x.data");
}

TEST_CASE("a library's name has .so at its end or before a version") {
  for (const char* yes : {"libc.so", "libc.so.6", "a/b/_C.cpython-312-x86_64-linux-gnu.so",
                          "ops.abi3.so", "libx-1.2.so.1.2.3", "lib.sox.so"}) {
    CAPTURE(yes);
    CHECK(is_library_name(yes));
  }
  for (const char* no :
       {"", ".so", "a.sock", "libso", "a.so/b", "x.soname", "a/.so.6", "readme.sort.txt"}) {
    CAPTURE(no);
    CHECK_FALSE(is_library_name(no));
  }
}

TEST_CASE("a requirement gives its name and pin, and nothing when an extra asks for it") {
  CHECK(read_requirement("nvidia-nccl-cu12==2.27.5; platform_system == 'Linux'") ==
        Pair{"nvidia-nccl-cu12", "2.27.5"});
  CHECK(read_requirement("Foo.Bar (==1.0)") == Pair{"foo-bar", "1.0"});
  CHECK(read_requirement("a>=1,<2") == Pair{"a", ""});
  CHECK(read_requirement("a[x,y]==1,!=2") == Pair{"a", "1"});
  CHECK(read_requirement("a===1") == Pair{"a", "1"});
  CHECK(read_requirement("a; extra == 'test'") == Pair{"", ""});
  CHECK(read_requirement("a; python_version < '3.9' and extra=='test'") == Pair{"", ""});
  CHECK(read_requirement("a @ https://example.org/a==1.whl").first == "a");
  CHECK(read_requirement("") == Pair{"", ""});
  CHECK(read_requirement("a==") == Pair{"", ""});  // pip ignores the whole line
}

TEST_CASE("paths are joined without dots, and may lead out at the front") {
  CHECK(join_path("torch/lib", "libc10.so") == "torch/lib/libc10.so");
  CHECK(join_path("torch/lib", "../../nvidia/nccl/lib") == "nvidia/nccl/lib");
  CHECK(join_path("a//b/.", "./c/") == "a/b/c");
  CHECK(join_path("", "") == "");
  CHECK(join_path("a", "..") == "");
  CHECK(join_path("a", "../../../../lib") == "../../../lib");
  CHECK(join_path("a/b", "../../../../x") == "../../../lib/x");
  CHECK(join_path("../../../lib", "libtbb.so") == "../../../lib/libtbb.so");
  CHECK(folder_of("a/b/c.so") == "a/b");
  CHECK(folder_of("c.so") == "");
  CHECK(folder_of("/c.so") == "/");
}

TEST_CASE("a module is named by its file name up to the first dot") {
  CHECK(module_name("sgl_kernel/sm90/common_ops.abi3.so") == "common_ops");
  CHECK(module_name("_C.cpython-312-x86_64-linux-gnu.so") == "_C");
  CHECK(module_name("x") == "x");
  CHECK(short_name("sgl_kernel/sm90/common_ops.abi3.so", "sgl-kernel 0.3.21") == "sm90/common_ops");
}

TEST_CASE("a path without its variant has '#' for architectures and CUDA or ROCm versions") {
  CHECK(without_variant("k/sm90/ops.so") == "k/sm#/ops.so");
  CHECK(without_variant("k/sm100a/ops.so") == "k/sm#/ops.so");
  CHECK(without_variant("bitsandbytes/libbitsandbytes_cuda128.so") ==
        "bitsandbytes/libbitsandbytes_cuda#.so");
  CHECK(without_variant("lib_rocm63.so") == "lib_rocm#.so");
  CHECK(without_variant("torch/lib/libtorch_cuda.so") == "torch/lib/libtorch_cuda.so");
  CHECK(without_variant("prism90.so") == "prism90.so");
  CHECK(without_variant("") == "");
}

TEST_CASE("the name that a library had before auditwheel renamed it") {
  CHECK(bundled_from("a.libs/libz-1a2b3c4d.so.1", "a") == "libz.so.1");
  CHECK(bundled_from("f.libs/libgeos-fiona-d914d573.so.3.11.2", "fiona") == "libgeos.so.3.11.2");
  CHECK(bundled_from("libpng16-0364a1db.so.16.43.0", "") == "libpng16.so.16.43.0");
  CHECK(bundled_from("libicudata-x-00000000.so", "y") == "libicudata-x.so");
  for (const char* other : {"libz.so.1", "libz-1.2.so", "libz-1a2b3c4g.so.1", "libz-1a2b3c4.so",
                            "libz-1a2b3c4d5.so", "-1a2b3c4d.so", "libz.so-1a2b3c4d"}) {
    CAPTURE(other);
    CHECK(bundled_from(other, "a") == "");
  }
}

TEST_CASE("entry points are read group by group") {
  auto points =
      read_entry_points("[console_scripts]\na = m:f\n# b = m:g\n\n[x.y]\nc=n\n d\n[z]\nnone\n");
  REQUIRE(points.size() == 3);
  CHECK(points[0].group == "console_scripts");
  CHECK(points[0].name == "a");
  CHECK(points[0].target == "m:f");
  CHECK(points[1].target == "nd");  // a continuation
  CHECK(points[2].name == "none");
  CHECK(points[2].target == "");
}
