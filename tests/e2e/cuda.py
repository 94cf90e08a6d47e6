#!/usr/bin/env python3
"""CUDA's libraries on a machine made here: a root with a toolkit, and pip's folders beside it.

The libraries are built with the system's C compiler under CUDA's names; no CUDA is needed.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

import support
from sysroot_made import made_root
from support import errors, failing, report, run

CC = shutil.which("cc") or shutil.which("gcc")
if not CC:
    support.skip("there is no C compiler")
WORK = tempfile.TemporaryDirectory()


def build(path, code, *flags):
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([CC, "-shared", "-fPIC", "-nostdlib", "-x", "c", "-", "-x", "none", "-o", path, *flags],
                   input=code, text=True, check=True)
    return path


def library(folder, soname, code="int made;\n", file_name=None, *flags):
    path = build(folder / (file_name or soname), code, f"-Wl,-soname,{soname}", *flags)
    if path.name != soname:
        (folder / soname).symlink_to(path.name)
    return path


def module(needs, *flags, code=""):
    """A package with one module that needs libraries by these sonames."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=WORK.name)) / "site"
    away = pathlib.Path(tempfile.mkdtemp(dir=WORK.name))
    made = [library(away, soname) for soname in needs]
    build(folder / "mine/_C.abi3.so", code + "void *PyInit__C(void) { return 0; }\n", "-Wl,--no-as-needed",
          *map(str, made), *flags)
    return folder


def toolkit(root, release, *sonames):
    """A toolkit with its libraries in lib64, and what it says of itself."""
    home = root / f"usr/local/cuda-{release}"
    for soname, file_name in sonames:
        library(home / "lib64", soname, file_name=file_name)
    (home / "version.json").write_text('{"cuda": {"name": "CUDA SDK", "version": "%s.0"}}' % release)
    return home


def found(parsed, id):
    return [each for each in parsed["findings"] if each["id"] == id]


def test_a_toolkits_library_on_no_path_gets_the_line_and_loads_with_it():
    root = made_root()
    toolkit(root, "13.0", ("libnvrtc.so.13", "libnvrtc.so.13.0.88"), ("libcurand.so.10", "libcurand.so.10.4.0.35"))
    site = module(["libnvrtc.so.13", "libcurand.so.10"])
    code, parsed = report(site, "--sysroot", root)
    assert code == 1, parsed["findings"]
    made = found(parsed, "CUDA-002")
    assert len(made) == 2 and not found(parsed, "LIB-001"), parsed["findings"]
    for each in made:
        assert "/usr/local/cuda-13.0/lib64" in each["fix"]["text"] and "/etc/ld.so.conf.d/cuda-13-0.conf" in each["fix"]["text"], each
        assert each["fix"]["verified"], each
    unreachable = {each["soname"]: each for each in parsed["cuda"]["libraries"]}
    curand = unreachable["libcurand.so.10"]
    assert curand["state"] == "unreachable" and curand["owner"] == "CUDA toolkit 13.0", curand
    assert curand["version"] == "10.4.0.35" and curand["cuda"] == "13", curand


def test_with_the_line_in_place_the_verdict_is_that_it_loads():
    root = made_root()
    home = toolkit(root, "13.0", ("libnvrtc.so.13", "libnvrtc.so.13.0.88"))
    from sysroot_made import cache
    (root / "etc/ld.so.cache").write_bytes(cache({"libnvrtc.so.13": "/usr/local/cuda-13.0/lib64/libnvrtc.so.13"}))
    code, parsed = report(module(["libnvrtc.so.13"]), "--sysroot", root)
    assert code == 0 and not found(parsed, "CUDA-002"), parsed["findings"]
    (taken,) = [each for each in parsed["cuda"]["libraries"] if each["soname"] == "libnvrtc.so.13"]
    assert taken["state"] == "found" and taken["version"] == "13.0.88", taken
    assert home.is_dir()


def test_the_line_is_not_verified_when_something_else_is_missing():
    root = made_root()
    toolkit(root, "13.0", ("libnvrtc.so.13", "libnvrtc.so.13.0.88"))
    code, parsed = report(module(["libnvrtc.so.13", "libother.so.1"]), "--sysroot", root)
    (each,) = found(parsed, "CUDA-002")
    assert code == 1 and not each["fix"]["verified"], each
    assert "with it 0 of 1 load" in each["evidence"], each


def test_a_toolkit_of_another_major_is_a_clash_and_no_remedy():
    root = made_root()
    toolkit(root, "13.0", ("libcudart.so.13", "libcudart.so.13.0.96"))
    site = module(["libcudart.so.12", "libcublas.so.12", "libcublasLt.so.12"])
    library(site / "nvidia/cu13/lib", "libcudart.so.13")
    code, parsed = report(site, "--sysroot", root)
    (clash,) = errors(parsed)
    assert clash["id"] == "CUDA-001" and "CUDA 13" in clash["title"], parsed["findings"]


def test_a_driver_that_is_too_old_is_an_error_and_nonsense_is_wrong_usage():
    root = made_root()
    library(root / "usr/lib", "libcudart.so.13")
    site = module(["libcudart.so.13"])
    code, parsed = report(site, "--sysroot", root, "--driver", "570.26")
    assert code == 1 and [each["id"] for each in errors(parsed)] == ["CUDA-011"], parsed["findings"]
    code, parsed = report(site, "--sysroot", root, "--driver", "580.65.06")
    assert code == 0 and parsed["cuda"]["driver"] == "580.65.06", parsed["cuda"]
    assert run("check", site, "--driver", "new").returncode == 2


def test_an_object_for_another_machine_is_one_finding():
    root = made_root()
    site = module(["libnowhere.so.1"])
    path = site / "mine/_C.abi3.so"
    content = bytearray(path.read_bytes())
    content[18:20] = (183).to_bytes(2, "little")  # e_machine: EM_AARCH64
    path.write_bytes(content)
    code, parsed = report(site, "--sysroot", root)
    assert code == 1 and [each["id"] for each in errors(parsed)] == ["FILE-004"], parsed["findings"]
    assert "aarch64" in errors(parsed)[0]["title"]


def test_what_nccl_says_of_itself_is_held_against_its_package():
    site = module([])
    library(site / "nvidia/nccl/lib", "libnccl.so.2",
            'const char words[] = "NCCL version 2.27.5+cuda12.9";\n')
    info = site / "nvidia_nccl_cu13-2.28.9.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: nvidia-nccl-cu13\nVersion: 2.28.9\n")
    (info / "RECORD").write_text("nvidia/nccl/lib/libnccl.so.2,,\n")
    code, parsed = report(site)
    (finding,) = found(parsed, "NCCL-002")
    assert "2.27.5+cuda12.9" in finding["title"], finding
    assert code == 0 and not failing(parsed)


def package(name, version, *requires):
    """A folder that is laid out as an installation, with the package's metadata."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=WORK.name)) / "site"
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    lines = [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"]
    (info / "METADATA").write_text("".join(lines + [f"Requires-Dist: {each}\n" for each in requires]))
    return folder


def wants(folder, path, soname, name):
    """A module at `path` that needs a library and imports a name of it."""
    made = library(pathlib.Path(tempfile.mkdtemp(dir=WORK.name)), soname, f"int {name}(void) {{ return 0; }}\n")
    module_name = pathlib.Path(path).name.split(".")[0]
    build(folder / path, f"int {name}(void);\nint PyInit_{module_name}(void) {{ return {name}(); }}\n", str(made))


def test_a_library_that_a_given_package_lacks_is_missing_and_one_of_an_absent_package_is_not():
    mine = package("mine", "1", "torch==1.13.1")
    wants(mine, "mine/_C.abi3.so", "libtorch_cuda_cu.so", "made")
    _, parsed = report(mine)
    assert not errors(parsed), errors(parsed)
    torch = package("torch", "2.1.0")
    library(torch / "torch/lib", "libtorch.so")
    code, parsed = report(mine, "--with", torch)
    missing = [each for each in errors(parsed) if each["id"] == "LIB-001"]
    assert code == 1 and len(missing) == 1 and "libtorch_cuda_cu.so" in missing[0]["title"], parsed["findings"]
    assert "torch==1.13.1" in missing[0]["fix"]["text"], missing


def test_a_module_that_its_package_does_without_is_told_when_its_library_is_there_and_lacks_a_name():
    cupy = package("cupy-cuda12x", "14.0.0")
    build(cupy / "cupy/core.abi3.so", "void *PyInit_core(void) { return 0; }\n")
    wants(cupy, "cupy_backends/cuda/libs/nccl.abi3.so", "libnccl.so.2", "ncclCommSplit")
    _, parsed = report(cupy)
    assert {each["severity"] for each in parsed["findings"]} == {"note"}, parsed["findings"]
    nccl = package("nvidia-nccl-cu12", "2.14.3")
    library(nccl / "nvidia/nccl/lib", "libnccl.so.2")
    code, parsed = report(cupy, "--with", nccl)
    told = found(parsed, "SYM-001")
    assert code == 0 and told[0]["severity"] == "warning" and told[0]["symbols"][0]["symbol"] == "ncclCommSplit", told

def rank(version):
    """An environment whose module loads an NCCL that says this release of itself, or none."""
    prefix = pathlib.Path(tempfile.mkdtemp(dir=WORK.name))
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", prefix], check=True)
    (site,) = prefix.glob("lib/python3*/site-packages")
    text = f'const char words[] = "NCCL version {version}+cuda12.9";\n' if version else "int silent;\n"
    made = library(site / "nvidia/nccl/lib", "libnccl.so.2", text)
    build(site / "mine/_C.abi3.so", "void *PyInit__C(void) { return 0; }\n", "-Wl,--no-as-needed", str(made),
          "-Wl,-rpath,$ORIGIN/../nvidia/nccl/lib")
    return prefix


def test_ranks_with_another_release_of_nccl_are_an_error_and_a_silent_one_is_not_passed():
    first = rank("2.27.5")
    code, parsed = report("--env", first, "--rank-env", rank("2.27.5"))
    assert code == 0 and not found(parsed, "NCCL-003"), parsed["findings"]
    code, parsed = report("--env", first, "--rank-env", rank("2.27.5"), "--rank-env", rank("2.28.9"))
    (told,) = found(parsed, "NCCL-003")
    assert code == 1 and told["severity"] == "error" and sum("2.27.5" in line for line in told["evidence"]) == 2, told
    code, parsed = report("--env", first, "--rank-env", rank(None))
    (told,) = found(parsed, "NCCL-003")
    assert code == 3 and told["severity"] == "warning", told
    assert run("check", first, "--rank-env", first).returncode == 2



support.main(globals())
