#!/usr/bin/env python3
"""An environment made here, judged by the program and asked with its own Python.

The packages are built with the system's C compiler: a provider, and a consumer that needs one of its functions.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

import support

CC = shutil.which("cc") or shutil.which("gcc")
if not CC:
    support.skip("there is no C compiler")
WORK = tempfile.TemporaryDirectory()
ROOT = pathlib.Path(WORK.name).resolve()


def build(path, code, *flags):
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([CC, "-shared", "-fPIC", "-x", "c", "-", "-x", "none", "-o", path, *flags], input=code, text=True, check=True)
    return path


def dist_info(site, name, version, files, requires=()):
    folder = site / f"{name}-{version}.dist-info"
    folder.mkdir(parents=True)
    lines = [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}", *(f"Requires-Dist: {one}" for one in requires)]
    (folder / "METADATA").write_text("\n".join(lines) + "\n")
    (folder / "WHEEL").write_text("Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\n"
                                  "Tag: py3-none-linux_x86_64\n")
    (folder / "RECORD").write_text("".join(f"{one},,\n" for one in files))


PROVIDER = "int provided(void) { return 1; }\n"
CONSUMER = "int provided(void);\nvoid *PyInit__C(void) { return (void *)(long)provided(); }\n"


def make_environment(name):
    """A venv with provider 1.0 and a consumer that finds it by RPATH."""
    prefix = ROOT / name
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", prefix], check=True)
    (site,) = prefix.glob("lib/python3*/site-packages")
    library = build(site / "provider/lib/libprovider.so", PROVIDER, "-Wl,-soname,libprovider.so")
    build(site / "consumer/_C.abi3.so", CONSUMER, library, "-Wl,-rpath,$ORIGIN/../provider/lib")
    (site / "consumer/__init__.py").write_text("from . import _C\n")
    dist_info(site, "provider", "1.0", ["provider/lib/libprovider.so"])
    dist_info(site, "consumer", "1.0", ["consumer/_C.abi3.so", "consumer/__init__.py"], ["provider"])
    return prefix, site


def provider_wheel(version, code):
    """A wheel of another release of the provider."""
    folder = ROOT / f"provider-{version}"
    build(folder / "provider/lib/libprovider.so", code, "-Wl,-soname,libprovider.so")
    dist_info(folder, "provider", version, ["provider/lib/libprovider.so"])
    path = ROOT / f"provider-{version}-py3-none-linux_x86_64.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                wheel.write(file, file.relative_to(folder))
    return path


def dlopen(prefix, path, **variables):
    """None, or what the loader says to the environment's own Python."""
    code = f"import ctypes, os\nctypes.PyDLL({str(path)!r}, os.RTLD_NOW | os.RTLD_LOCAL)"
    done = subprocess.run([prefix / "bin/python", "-c", code], capture_output=True, text=True,
                          env={**os.environ, **variables})
    return None if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def root_of(parsed, path):
    (found,) = [root for root in parsed["roots"] if root["path"] == path]
    return found


PREFIX, SITE = make_environment("env")


def test_an_environment_is_judged_with_the_machines_own_libraries():
    code, parsed = support.report("--env", PREFIX)
    assert code == 0, parsed
    assert root_of(parsed, "consumer/_C.abi3.so")["status"] == "loads"
    assert dlopen(PREFIX, SITE / "consumer/_C.abi3.so") is None
    assert not [each for each in parsed["assumptions"] if each["library"].startswith("libc.so")], "libc is there"
    assert parsed["scenario"]["python"] == f"3.{sys.version_info.minor}", parsed["scenario"]


def test_the_active_environment_is_the_target_when_none_is_named():
    done = support.run("check", "--format", "json", env={**os.environ, "VIRTUAL_ENV": str(PREFIX)})
    assert done.returncode == 0, done.stderr
    assert [root["path"] for root in json.loads(done.stdout)["roots"]] == ["consumer/_C.abi3.so",
                                                                           "provider/lib/libprovider.so"] or \
        root_of(json.loads(done.stdout), "consumer/_C.abi3.so")
    bare = {key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "CONDA_PREFIX")}
    done = support.run("check", env=bare)
    assert done.returncode == 2 and "--env" in done.stderr, done.stderr


def test_an_installation_that_breaks_another_package_is_an_error():
    wheel = provider_wheel("2.0", "int renamed(void) { return 1; }\n")
    code, parsed = support.report(wheel, "--env", PREFIX)
    assert code == 1, parsed
    root = root_of(parsed, "consumer/_C.abi3.so")
    assert root["missing_symbols"] == ["provided"], root
    (finding,) = support.errors(parsed)
    assert "installing provider 2.0 breaks it" in finding["cause"], finding
    # The loader says the same once it is installed.
    other, site = make_environment("broken")
    shutil.copy(ROOT / "provider-2.0/provider/lib/libprovider.so", site / "provider/lib/libprovider.so")
    assert "undefined symbol: provided" in dlopen(other, site / "consumer/_C.abi3.so")


def test_an_installation_that_breaks_nothing_says_nothing_of_the_others():
    wheel = provider_wheel("1.1", PROVIDER + "int more(void) { return 2; }\n")
    code, parsed = support.report(wheel, "--env", PREFIX)
    assert code == 0, parsed
    assert not [root for root in parsed["roots"] if root["path"].startswith("consumer/")]


def test_a_wheel_that_pip_refuses_here_is_told_and_pip_agrees():
    minor = sys.version_info.minor
    wheel = provider_wheel("3.0", PROVIDER)
    pip = subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode == 0
    arch = os.uname().machine
    for tag, taken in ((f"cp3{minor}-cp3{minor}-linux_{arch}", True), (f"cp3{minor + 1}-cp3{minor + 1}-linux_{arch}", False),
                       (f"cp3{minor}-abi3-manylinux_2_5_{arch}", True), (f"cp3{minor + 1}-abi3-manylinux_2_5_{arch}", False),
                       ("cp38-abi3-manylinux2014_" + arch, True), ("py3-none-manylinux_2_99_" + arch, False),
                       (f"cp3{minor}-cp3{minor}t-linux_{arch}", False), ("py3-none-linux_armv7l", False),
                       (f"py3{minor + 1}-none-any", False), ("py2.py3-none-any", True),
                       ("py3-none-musllinux_1_1_" + arch, False)):
        path = wheel.with_name(f"provider-3.0-{tag}.whl")
        shutil.copy(wheel, path)
        _, parsed = support.report(path, "--env", PREFIX)
        refused = [each for each in parsed["findings"] if each["id"] == "TAG-008"]
        assert bool(refused) != taken, (tag, refused)
        if pip:
            done = subprocess.run([sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--dry-run", "--target",
                                   ROOT / "target", path], capture_output=True, text=True)
            assert ("not a supported wheel" in done.stderr) != taken, (tag, done.stderr)


def test_LD_LIBRARY_PATH_counts_as_it_does_for_the_loader():
    prefix, site = make_environment("path")
    build(site / "consumer/_C.abi3.so", CONSUMER, site / "provider/lib/libprovider.so")  # no RPATH
    for variables, loads in (({}, False), ({"LD_LIBRARY_PATH": str(site / "provider/lib")}, True)):
        done = support.run("check", "--env", prefix, "--alone", "--format", "json",
                           env={**os.environ, **variables})
        root = root_of(json.loads(done.stdout), "consumer/_C.abi3.so")
        said = dlopen(prefix, site / "consumer/_C.abi3.so", **variables)
        assert (root["status"] == "loads") == loads == (said is None), (variables, root, said)
        if not loads:
            assert root["missing_libraries"] == ["libprovider.so"], root


def test_a_library_opened_from_python_first_serves_the_module():
    prefix, site = make_environment("opened")
    build(site / "consumer/_C.abi3.so", CONSUMER, site / "provider/lib/libprovider.so")
    build(site / "consumer/libprovider.so", PROVIDER, "-Wl,-soname,libprovider.so")
    (site / "consumer/__init__.py").write_text(
        "import ctypes, os\nctypes.CDLL(os.path.join(os.path.dirname(__file__), 'libprovider.so'))\nfrom . import _C\n")
    code, parsed = support.report("--env", prefix)
    root = root_of(parsed, "consumer/_C.abi3.so")
    assert root["status"] == "loads" and root["opens_first"] == [
        {"path": "consumer/libprovider.so", "global": False}], root
    code, parsed = support.report("--env", prefix, "--alone")
    assert root_of(parsed, "consumer/_C.abi3.so")["status"] == "fails"


def test_without_an_interpreter_at_hand_the_machines_c_library_is_one():
    """libpthread.so.0 is a shell of libc.so.6 since glibc 2.34: the two belong together."""
    if os.uname().machine != "x86_64":
        return  # the version below is that of x86-64's first glibc
    prefix, site = make_environment("dangling")
    # Linked as on a glibc before 2.34, where the function lived in libpthread.so.0.
    script = ROOT / "old.map"
    script.write_text("GLIBC_2.2.5 { global: pthread_mutex_lock; };\n")
    old = build(ROOT / "old/libpthread.so.0", "int pthread_mutex_lock(void *m) { return m != 0; }\n",
                "-nostdlib", "-Wl,-soname,libpthread.so.0", f"-Wl,--version-script={script}")
    code = "int pthread_mutex_lock(void *);\nvoid *PyInit__C(void) { return (void *)(long)pthread_mutex_lock(0); }\n"
    module = build(site / "consumer/_C.abi3.so", code, old)
    assert "libpthread.so.0" in subprocess.run(["readelf", "-V", module], capture_output=True, text=True).stdout
    for link in (prefix / "bin").glob("python*"):
        link.unlink()
    (prefix / "bin/python3").symlink_to("/nowhere/python3")
    for arguments in (["--env", prefix], [site, "--host"], [site, "--sysroot", "/"]):
        code, parsed = support.report(*arguments)
        assert root_of(parsed, "consumer/_C.abi3.so")["status"] == "loads", (arguments, parsed["findings"])


def test_a_prefix_without_python_is_wrong_usage():
    done = support.run("check", "--env", ROOT)
    assert done.returncode == 2 and "lib/python3" in done.stderr, done.stderr


support.main(globals())
