"""What installing a wheel would do to an environment's packages, by its requirements; pip is asked the same."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

import support
from support import errors, main, report

CC = shutil.which("cc") or shutil.which("gcc")
if not CC:
    support.skip("there is no C compiler")
WORK = tempfile.TemporaryDirectory()
ROOT = pathlib.Path(WORK.name).resolve()


def dist(folder, name, version, requires=(), files=None):
    """A distribution below `folder`, as it is installed or in a wheel; returns the files of it."""
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    every = dict(files or {})
    every[f"{info}/METADATA"] = (f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
                                 + "".join(f"Requires-Dist: {one}\n" for one in requires)).encode()
    every[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    every[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*every, f"{info}/RECORD"]).encode()
    for path, content in every.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return every


def wheel(name, version, requires=(), folder=None):
    place = ROOT / "wheels" if folder is None else folder
    place.mkdir(exist_ok=True)
    path = place / f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
    with tempfile.TemporaryDirectory() as work, zipfile.ZipFile(path, "w") as archive:
        for member, content in dist(pathlib.Path(work), name, version, requires).items():
            archive.writestr(member, content)
    return path


def environment(name, *packages):
    prefix = ROOT / name
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", prefix], check=True)
    (site,) = prefix.glob("lib/python3*/site-packages")
    for package in packages:
        dist(site, *package)
    return prefix, site


def by_id(parsed):
    out = {}
    for finding in parsed["findings"]:
        if finding["id"].startswith("REQ-"):
            out.setdefault(finding["id"], []).append(finding)
    return out


def test_the_packages_that_pip_replaces_and_installs_are_those_that_pip_names():
    prefix, _ = environment("plain", ("torchlike", "2.9.1+cu130"), ("kept", "1.5"), ("elder", "1.0"))
    links = ROOT / "links"
    for name, version in (("torchlike", "2.10.0"), ("kept", "2.0"), ("elder", "1.1"), ("fresh", "3.0"),
                          ("gpu-part", "1.0")):
        wheel(name, version, folder=links)
    target = wheel("target", "1.0", ["torchlike==2.10.0", "kept>=1.0", "elder>1.0; python_version >= '3'", "fresh~=3.0",
                                     "never; sys_platform == 'win32'", "gpu-part; extra == 'gpu'"])
    code, parsed = report(target, "--env", prefix)
    assert code == 0, errors(parsed)
    found = by_id(parsed)
    replaced = sorted(finding["title"] for finding in found["REQ-001"])
    assert replaced == ["pip replaces the installed elder 1.0", "pip replaces the installed torchlike 2.9.1+cu130"], replaced
    assert found["REQ-003"][0]["evidence"] == ["fresh~=3.0, for target 1.0"]
    # The same question to pip.
    answer = ROOT / "answer.json"
    done = subprocess.run([sys.executable, "-m", "pip", "--python", prefix, "install", "--dry-run", "--no-index",
                           "--find-links", links, "--report", answer, target], capture_output=True, text=True)
    if "no such option" in done.stderr or "No module named pip" in done.stderr:
        support.skip("this machine's pip has no --python or --report")
    assert done.returncode == 0, done.stderr
    taken = {entry["metadata"]["name"]: entry["metadata"]["version"] for entry in json.loads(answer.read_text())["install"]}
    assert taken == {"target": "1.0", "torchlike": "2.10.0", "elder": "1.1", "fresh": "3.0"}, taken
    # The line that keeps the package makes pip refuse this target.
    constraint = ROOT / "constraints.txt"
    fix = [finding["fix"]["text"] for finding in found["REQ-001"] if "torchlike" in finding["title"]][0]
    assert "echo 'torchlike==2.9.1+cu130' > constraints.txt" in fix, fix
    constraint.write_text("torchlike==2.9.1+cu130\n")
    done = subprocess.run([sys.executable, "-m", "pip", "--python", prefix, "install", "--dry-run", "--no-index",
                           "--find-links", links, "-c", constraint, target], capture_output=True, text=True)
    assert done.returncode != 0 and "conflict" in (done.stdout + done.stderr).lower(), done.stderr


def test_a_local_version_of_the_release_is_not_replaced():
    prefix, _ = environment("local", ("torchlike", "2.9.1+cu130"))
    _, parsed = report(wheel("content", "1.0", ["torchlike==2.9.1"]), "--env", prefix)
    assert by_id(parsed) == {}, by_id(parsed)


def test_extras_that_a_target_asks_for_are_followed():
    prefix, _ = environment("extras", ("ray-like", "2.0", ["part>=2; extra == 'cgraph'"]), ("part", "1.0"))
    _, parsed = report(wheel("asks", "1.0", ["ray-like[cgraph]"]), "--env", prefix)
    (finding,) = by_id(parsed)["REQ-001"]
    assert finding["title"] == "pip replaces the installed part 1.0", finding
    _, parsed = report(wheel("plain", "1.0", ["ray-like"]), "--env", prefix)
    assert by_id(parsed) == {}


def test_an_environment_whose_requirements_are_not_met_is_told():
    prefix, _ = environment("broken", ("user", "1.0", ["lib>=2", "absent"]), ("lib", "1.0"))
    code, parsed = report("--env", prefix)
    (finding,) = by_id(parsed)["REQ-004"]
    assert sorted(finding["evidence"]) == ["absent: not installed", "lib>=2: 1.0 is installed"]
    sound, _ = environment("sound", ("user", "1.0", ["lib>=2; extra == 'x'", "lib<2"]), ("lib", "1.0"))
    _, parsed = report("--env", sound)
    assert by_id(parsed) == {}


def test_a_target_that_breaks_what_an_installed_package_requires():
    prefix, _ = environment("left", ("user", "1.0", ["lib<2"]), ("lib", "1.0"))
    _, parsed = report(wheel("lib", "2.0"), "--env", prefix)
    (finding,) = by_id(parsed)["REQ-004"]
    assert finding["evidence"] == ["lib<2: 2.0 is to be installed"]


def test_targets_that_exclude_each_other_are_refused():
    prefix, _ = environment("both")
    code, parsed = report(wheel("one", "1.0", ["two==2.0"]), wheel("two", "3.0"), "--env", prefix)
    assert code == 1
    assert [finding["id"] for finding in errors(parsed)] == ["REQ-005"]


CHECK = "_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_ib"


def library(path, code, *flags):
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([CC, "-shared", "-fPIC", "-x", "c", "-", "-x", "none", "-o", path, *flags], input=code, text=True,
                   check=True)
    return path


def torch_environment(name, version):
    """torch with the one function that the installed kernels import; what its other releases export the history says."""
    prefix, site = environment(name)
    made = library(site / "torch/lib/libc10_cuda.so", f'int check(void) __asm__("{CHECK}");\nint check(void){{return 0;}}',
                   "-Wl,-soname,libc10_cuda.so")
    code = f'int check(void) __asm__("{CHECK}");\nvoid *PyInit_ops(void){{return (void *)(long)check();}}'
    library(site / "sgl_kernel/ops.abi3.so", code, made, "-Wl,-rpath,$ORIGIN/../torch/lib")
    here = lambda path: {path: (site / path).read_bytes()}
    dist(site, "torch", version, files=here("torch/lib/libc10_cuda.so"))
    dist(site, "sgl-kernel", "0.3.21", files=here("sgl_kernel/ops.abi3.so"))
    return prefix


def test_another_torch_that_a_target_pulls_in_breaks_an_installed_wheel():
    prefix = torch_environment("torch", "2.9.1")
    code, parsed = report("--env", prefix)
    assert code == 0, errors(parsed)
    code, parsed = report(wheel("flashinfer-python", "0.6.4", ["torch==2.10.0"]), "--env", prefix)
    found = by_id(parsed)
    assert code == 1 and "REQ-002" in found, (code, parsed["findings"])
    (finding,) = found["REQ-002"]
    assert finding["title"] == "torch 2.10.0 in place of 2.9.1 breaks 1 module of sgl-kernel 0.3.21", finding["title"]
    assert any("c10_cuda_check_implementation" in line for line in finding["evidence"]), finding["evidence"]
    assert "torch==2.9.1" in finding["fix"]["text"]
    assert finding["roots"] == ["sgl_kernel/ops.abi3.so"], finding["roots"]
    # A release that still has the function breaks nothing, nor does a target that takes the installed torch.
    code, parsed = report(wheel("flashinfer-python", "0.6.2", ["torch==2.8.0"]), "--env", prefix)
    assert code == 0 and "REQ-001" in by_id(parsed) and "REQ-002" not in by_id(parsed), errors(parsed)
    _, parsed = report(wheel("flashinfer-python", "0.6.3", ["torch>=2.9"]), "--env", prefix)
    assert by_id(parsed) == {}


def test_a_resolver_that_swaps_a_build_for_one_of_another_cuda_is_told_with_what_it_breaks():
    prefix = torch_environment("swap", "2.9.1+cu130")
    code, parsed = report(wheel("wants", "2.0", ["torch==2.10.*"]), "--env", prefix)
    found = by_id(parsed)
    assert code == 1 and "REQ-002" in found, list(found)
    assert "torch==2.9.1+cu130" in found["REQ-002"][0]["fix"]["text"]
    assert any("for CUDA 12.8, the installed one is labelled cu130" in line for line in found["REQ-001"][0]["evidence"])


def test_a_build_for_another_cuda_that_would_be_taken_is_told():
    prefix, site = environment("cuda", ("torch", "2.9.1+cu130"))
    _, parsed = report(wheel("wants", "1.0", ["torch>=2.10,<2.11"]), "--env", prefix)
    (finding,) = by_id(parsed)["REQ-001"]
    assert any("for CUDA 12.8, the installed one is labelled cu130" in line for line in finding["evidence"]), finding


main(globals())
