"""Builds one environment in a folder: a venv, the pinned packages, the stub drivers."""
import glob
import os
import pathlib
import re
import subprocess
import sys

DRIVER = {"libcuda.so.1": re.compile(r"cu(?!File)[A-Z]\w*$"), "libnvidia-ml.so.1": re.compile(r"nvml[A-Z]\w*$")}


def find_interpreter(version, patterns, distribution):
    """The first interpreter of that minor version: a shim on PATH may exist and yet not run. The distribution's
    own is asked for where it matters that the program itself holds the interpreter (Debian's does)."""
    folders = (["/usr/bin"] if distribution else []) + os.environ.get("PATH", "").split(os.pathsep)
    candidates = [os.path.join(folder, f"python{version}") for folder in folders]
    for pattern in patterns:
        candidates += sorted(glob.glob(os.path.expanduser(pattern)))
    for candidate in candidates:
        if not os.access(candidate, os.X_OK) or os.path.isdir(candidate):
            continue
        done = subprocess.run([candidate, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
                              capture_output=True, text=True)
        if done.returncode == 0 and done.stdout.strip() == version:
            return candidate
    raise SystemExit(f"no Python {version}: see --interpreters")


def install(environment, common, prefix, options):
    interpreter = find_interpreter(environment["python"], options.interpreters, environment.get("distribution"))
    subprocess.run([interpreter, "-m", "venv", "--without-pip", str(prefix)], check=True)
    packages = environment["packages"] + ([] if environment.get("bare") else common)
    command = [*options.pip, "--python", str(prefix / "bin/python"), "install", "--quiet", "--no-deps",
               "--no-compile", "--only-binary=:all:"]
    command += ["--cache-dir", str(options.pip_cache)] if options.pip_cache else ["--no-cache-dir"]
    for folder in options.find_links:
        command += ["--find-links", folder]
    subprocess.run(command + packages, check=True, stdout=sys.stderr)


def site_packages(prefix):
    return next(pathlib.Path(prefix).glob("lib/python*/site-packages"))


def shared_objects(folder):
    for path in sorted(folder.rglob("*.so*")):
        if path.is_file() and not path.is_symlink():
            with open(path, "rb") as file:
                if file.read(4) == b"\x7fELF":
                    yield path


def stub_driver(prefix, folder):
    """Libraries with the driver's sonames and every driver name that some library here imports."""
    names = {soname: set() for soname in DRIVER}
    paths = [str(path) for path in shared_objects(site_packages(prefix))]
    for at in range(0, len(paths), 100):
        done = subprocess.run(["nm", "-D", "--undefined-only", "-f", "posix", *paths[at:at + 100]],
                              capture_output=True, text=True)
        for line in done.stdout.splitlines():
            name = line.split(" ", 1)[0].split("@", 1)[0]
            for soname, pattern in DRIVER.items():
                if pattern.match(name):
                    names[soname].add(name)
    folder.mkdir()
    for soname, wanted in names.items():
        # 34 is CUDA_ERROR_STUB_LIBRARY, what the toolkit's own stub answers.
        text = "".join(f"int {name}(void) {{ return 34; }}\n" for name in sorted(wanted))
        (folder / "stub.c").write_text(text)
        subprocess.run(["cc", "-shared", "-fPIC", "-w", "-o", str(folder / soname), str(folder / "stub.c"),
                        f"-Wl,-soname,{soname}"], check=True)
