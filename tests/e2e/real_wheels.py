"""The real wheels: as files, unpacked, and installed into a folder, they get the verdict of their stubs.

Downloads 2.4 GB once, with pip, by exact version; the files are kept in the user's cache and compared with
the SHA-256 that the stubs carry."""

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

from support import load_findings, main, report, skip, stub

CACHE = pathlib.Path(os.environ.get("WHEELVET_CACHE")
                     or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"),
                                     "wheelvet")) / "wheels"
WANTED = [("sgl-kernel", "0.3.21"), ("torch", "2.10.0"), ("torch", "2.9.1")]
PLATFORM = ["--python-version", "3.12", "--only-binary=:all:", "--platform", "manylinux_2_28_x86_64",
            "--platform", "manylinux2014_x86_64"]


def origin(stub_path):
    with zipfile.ZipFile(stub_path) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith("WHEELVET-STUB")]
        lines = archive.read(name).decode().splitlines()
    return dict(line.split(": ", 1) for line in lines)


def fetch(name, version):
    stub_path = stub(f"{name.replace('-', '_')}-{version}")
    facts = origin(stub_path)
    path = CACHE / facts["Origin-File"]
    if not path.exists():
        if shutil.disk_usage(CACHE).free < 12e9:
            skip("less than 12 GB of disk are free")
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            done = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                                   *PLATFORM, "-d", folder, f"{name}=={version}"],
                                  capture_output=True, text=True)
            found = list(pathlib.Path(folder).glob("*.whl"))
            if done.returncode or not found:
                skip(f"network: pip could not download {name} {version}")
            found[0].rename(CACHE / found[0].name)
    if not path.exists():
        skip(f"network: the index no longer offers {facts['Origin-File']}")
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256") if hasattr(hashlib, "file_digest") else None
    if digest:
        assert digest.hexdigest() == facts["Origin-SHA256"], path
    return str(path), stub_path


CACHE.mkdir(parents=True, exist_ok=True)
(SGL, SGL_STUB), (BROKEN, BROKEN_STUB), (FITTING, FITTING_STUB) = [fetch(*each) for each in WANTED]
WORK = pathlib.Path(tempfile.mkdtemp(dir=CACHE))


def unpacked(wheel, name):
    folder = WORK / name
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return str(folder)


def installed(wheels, name):
    folder = WORK / name
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile",
                    *PLATFORM, "--target", str(folder), *wheels], check=True)
    return str(folder)


def test_the_wheels_get_the_verdict_of_their_stubs():
    for provider, its_stub, expected in ((BROKEN, BROKEN_STUB, 1), (FITTING, FITTING_STUB, 0)):
        code, parsed = report(SGL, "--with", provider)
        assert code == expected, code
        _, by_stub = report(SGL_STUB, "--with", its_stub)
        assert load_findings(parsed) == load_findings(by_stub)


def test_unpacked_folders_get_the_same_verdict():
    _, by_wheel = report(SGL_STUB, "--with", BROKEN_STUB)
    target, provider = unpacked(SGL, "sgl"), unpacked(BROKEN, "torch")
    code, parsed = report(target, "--with", provider)
    assert code == 1
    mine, wheel = load_findings(parsed), load_findings(by_wheel)
    assert mine["roots"] == wheel["roots"]
    assert [f for f in mine["findings"] if f[1] == "error"] == [
        f for f in wheel["findings"] if f[1] == "error"]
    shutil.rmtree(target)
    shutil.rmtree(provider)


def test_a_folder_that_pip_installed_both_into_gets_the_same_errors():
    _, by_wheel = report(SGL_STUB, "--with", BROKEN_STUB)
    folder = installed([SGL, BROKEN], "site")
    code, parsed = report(folder)
    assert code == 1
    assert [f for f in load_findings(parsed)["findings"] if f[1] == "error"] == [
        f for f in load_findings(by_wheel)["findings"] if f[1] == "error"]
    shutil.rmtree(folder)


try:
    main(globals())
finally:
    shutil.rmtree(WORK, ignore_errors=True)
