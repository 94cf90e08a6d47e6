"""Wheels named as NAME==VERSION: fetched through pip's own configuration, once. The index is a folder made here."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import zipfile

from support import PROGRAM, main, run, skip

if subprocess.run(["python3", "-I", "-m", "pip", "--version"], capture_output=True).returncode:
    skip("python3 on the PATH has no pip")
WORK = tempfile.TemporaryDirectory()
ROOT = pathlib.Path(WORK.name).resolve()
INDEX = ROOT / "index"
INDEX.mkdir()


def make_wheel(name, version, tag, requires=()):
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}/__init__.py": "",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
                            + "".join(f"Requires-Dist: {one}\n" for one in requires),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,{len(text)}\n" for path, text in files.items()) + f"{info}/RECORD,,\n"
    path = INDEX / f"{name}-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for member, text in files.items():
            wheel.writestr(member, text)
    return path


make_wheel("my_pkg", "1.0", "py3-none-any")
make_wheel("my_pkg", "1.1", "cp312-cp312-manylinux_2_28_x86_64")
make_wheel("my_pkg", "1.1", "cp311-cp311-manylinux_2_28_x86_64")
make_wheel("my_pkg", "1.1", "cp313-cp313t-manylinux_2_28_x86_64")
make_wheel("my_pkg", "1.1", "cp312-cp312-manylinux2014_aarch64")
make_wheel("other", "2.0", "cp39-abi3-manylinux2014_x86_64")


def fetch(*arguments, cache="cache", **variables):
    environment = {**os.environ, "XDG_CACHE_HOME": str(ROOT / cache), "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(INDEX),
                   **variables}
    return run("inspect", *arguments, "--format", "json", env=environment)


def tags(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["packages"][0]["tags"]


def test_the_wheel_for_the_interpreter_and_machine_is_taken():
    assert tags(fetch("my-pkg==1.1")) == ["cp312-cp312-manylinux_2_28_x86_64"]
    assert tags(fetch("My_Pkg == 1.1", "--python", "3.11")) == ["cp311-cp311-manylinux_2_28_x86_64"]
    assert tags(fetch("my.pkg==1.1", "--python", "3.13t")) == ["cp313-cp313t-manylinux_2_28_x86_64"]
    assert tags(fetch("my-pkg==1.1", "--platform", "aarch64")) == ["cp312-cp312-manylinux2014_aarch64"]
    assert tags(fetch("my-pkg[extra]==1.0")) == ["py3-none-any"]
    assert tags(fetch("other==2.0", "--python", "3.13")) == ["cp39-abi3-manylinux2014_x86_64"]


def test_it_is_fetched_once_and_then_neither_pip_nor_the_index_is_needed():
    assert tags(fetch("my-pkg==1.0", cache="once"))
    bare = ROOT / "bare"
    bare.mkdir()
    assert tags(fetch("my-pkg==1.0", cache="once", PATH=str(bare), PIP_FIND_LINKS="/nowhere"))


def test_a_version_that_is_not_there_names_those_that_are():
    done = fetch("my-pkg==9.9")
    assert done.returncode == 2, done.stderr
    assert "my-pkg==9.9" in done.stderr and "1.0, 1.1" in done.stderr and "CPython 3.12 on x86_64" in done.stderr
    done = fetch("no-such-project==1")
    assert done.returncode == 2 and "none of any other version" in done.stderr, done.stderr


def test_no_wheel_for_that_platform_is_said():
    done = fetch("my-pkg==1.1", "--python", "3.9")
    assert done.returncode == 2 and "CPython 3.9 on x86_64; it has 1.0" in done.stderr, done.stderr


def test_an_open_version_is_no_wheel():
    for text in ("my-pkg>=1.0", "my-pkg~=1.0", "my-pkg==1.*", "my-pkg==1.0,!=2"):
        done = fetch(text)
        assert done.returncode == 2 and "name one version" in done.stderr, (text, done.stderr)
    assert fetch("./my-pkg==1.0").returncode == 2
    assert fetch("my-pkg==1.0", "--python", "../3.12").returncode == 2


def test_without_pip_or_an_index_it_is_no_answer_and_nothing_is_left():
    bare = ROOT / "bare2"
    bare.mkdir()
    done = fetch("my-pkg==1.0", cache="none", PATH=str(bare))
    assert done.returncode == 3 and "python3" in done.stderr, done.stderr
    (bare / "python3").write_text("#!/bin/sh\necho 'python3: No module named pip' >&2\nexit 1\n")
    (bare / "python3").chmod(0o755)
    done = fetch("my-pkg==1.0", cache="none", PATH=str(bare) + ":/bin:/usr/bin")
    assert done.returncode == 3 and "has no pip" in done.stderr, done.stderr
    variables = {key: "" for key in ("PIP_NO_INDEX", "PIP_FIND_LINKS")}
    done = fetch("my-pkg==1.0", cache="none", PIP_INDEX_URL="http://127.0.0.1:9/simple", PIP_TRUSTED_HOST="127.0.0.1",
                 PIP_EXTRA_INDEX_URL="", **variables)
    assert done.returncode == 3 and "cannot be reached" in done.stderr, done.stderr
    left = [path for path in (ROOT / "none").rglob("*") if path.is_file() and not path.name.endswith(".lock")]
    assert left == [], left


def test_an_interruption_leaves_nothing_half():
    slow = ROOT / "slow"
    slow.mkdir()
    (slow / "python3").write_text("#!/bin/sh\nfor last; do :; done\nwhile [ $# -gt 1 ]; do [ \"$1\" = --dest ] && "
                                  "echo half > \"$2/half.whl\"; shift; done\nexec sleep 60\n")
    (slow / "python3").chmod(0o755)
    environment = {**os.environ, "XDG_CACHE_HOME": str(ROOT / "cut"), "PATH": f"{slow}:{os.environ['PATH']}"}
    child = subprocess.Popen([PROGRAM, "inspect", "my-pkg==1.0"], env=environment, start_new_session=True,
                             stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not list((ROOT / "cut").rglob("half.whl")) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(child.pid, signal.SIGINT)
    assert child.wait(timeout=60) in (-signal.SIGINT, 130), child.returncode
    assert list((ROOT / "cut").rglob("*.whl")) == []
    assert tags(fetch("my-pkg==1.0", cache="cut"))


def test_check_takes_the_interpreter_from_the_other_inputs():
    local = INDEX / "my_pkg-1.1-cp311-cp311-manylinux_2_28_x86_64.whl"
    environment = {**os.environ, "XDG_CACHE_HOME": str(ROOT / "others"), "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(INDEX)}
    make_wheel("third", "1.0", "cp311-cp311-manylinux_2_28_x86_64")
    done = run("check", "third==1.0", "--with", local, "--format", "json", env=environment)
    assert done.stdout, done.stderr
    assert [each["label"] for each in json.loads(done.stdout)["inputs"]][0].startswith("third-1.0-cp311")


main(globals())
