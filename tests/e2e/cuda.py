#!/usr/bin/env python3
"""CUDA's libraries on a machine made here: a root with a toolkit, and pip's folders beside it.

The libraries are built with the system's C compiler under CUDA's names; no CUDA is needed.
"""
import pathlib
import shutil
import subprocess
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


support.main(globals())
