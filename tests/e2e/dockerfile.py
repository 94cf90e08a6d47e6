"""The Dockerfile, carried out line by line in roots that debootstrap makes, where there is no Docker to ask.

WHEELVET_BASE_ROOT names a folder that holds such a root already; it is copied."""

import os
import pathlib
import shlex
import shutil
import subprocess
import tempfile

from support import SOURCE, main, skip, stub

if os.geteuid() != 0:
    skip("chroot is for root alone")
if not shutil.which("debootstrap"):
    skip("debootstrap is not installed")
WORK = pathlib.Path(tempfile.mkdtemp())
CLEAN = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}
# Where this machine's pip and apt get things from is no matter of the image.
CLEAN |= {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "http_", "https_", "CCACHE_"))}


def instructions():
    text = (SOURCE / "Dockerfile").read_text()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        if line.strip():
            yield line.split(None, 1)


def base():
    """A root as debian:12 has it: the packages that are required, and apt."""
    root = pathlib.Path(tempfile.mkdtemp(dir=WORK))
    given = os.environ.get("WHEELVET_BASE_ROOT")
    if given:
        subprocess.run(["cp", "-a", f"{given}/.", root], check=True)
        return root
    done = subprocess.run(["debootstrap", "--variant=minbase", "bookworm", root], capture_output=True, text=True)
    if done.returncode:
        skip(f"network: debootstrap: {done.stdout[-300:]}")
    # The image has updates and security fixes among its sources.
    sources = root / "etc" / "apt" / "sources.list"
    kind, address, suite, part = sources.read_text().split()[:4]
    sources.write_text(f"{kind} {address} {suite} {part}\n{kind} {address} {suite}-updates {part}\n"
                       f"{kind} {address}-security {suite}-security {part}\n")
    return root


def inside(root, command, folder="/", user=None, **options):
    """A command in a root of its own with /proc, as a container has it."""
    who = ["--userspec=nobody:nogroup"] if user == "nobody" else []
    script = f"cd {shlex.quote(folder)} && exec {command}" if isinstance(command, str) else None
    words = ["/bin/sh", "-c", script] if script else list(command)
    return subprocess.run(["unshare", "--mount", "sh", "-c",
                           f'mount -t proc proc {root}/proc && exec chroot "$@"', "-", *who, root, *words],
                          env=CLEAN, **options)


def build():
    stages, root, folder, user, entry = {}, None, "/", None, None
    for word, rest in instructions():
        if word == "FROM":
            image, *name = rest.split()
            assert image.startswith("debian:12"), image
            root, folder, user = base(), "/", None
            stages[name[1] if name else ""] = root
        elif word == "COPY":
            *flags, source, target = rest.split()
            if flags:
                place = root / target.strip("/")
                subprocess.run(["cp", "-a", f"{stages[flags[0].removeprefix('--from=')]}{source}.", place], check=True)
            else:
                place = root / target.strip("/")
                place.mkdir(parents=True, exist_ok=True)
                files = subprocess.run(["git", "ls-files", "-z"], cwd=SOURCE, check=True, capture_output=True).stdout
                subprocess.run(["tar", "--null", "-cT", "-", "-f", WORK / "source.tar"], cwd=SOURCE, input=files, check=True)
                subprocess.run(["tar", "-xf", WORK / "source.tar", "-C", place], check=True)
        elif word == "WORKDIR":
            folder = rest
            (root / folder.strip("/")).mkdir(parents=True, exist_ok=True)
        elif word == "RUN":
            done = inside(root, f"sh -c {shlex.quote(rest)}", folder, capture_output=True, text=True)
            said = done.stdout + done.stderr
            if "Temporary failure resolving" in said:
                skip("network: no name server inside the root")
            assert done.returncode == 0, said[-3000:]
        elif word == "USER":
            user = rest
        elif word == "ENTRYPOINT":
            entry = rest.strip('[]"').split('", "')
        else:
            raise AssertionError(f"the Dockerfile has {word}, which this test does not know")
    return root, folder, user, entry


ROOT, FOLDER, USER, ENTRY = build()


def run_image(*arguments):
    return inside(ROOT, shlex.join([*ENTRY, *arguments]), FOLDER, USER, capture_output=True, text=True)


def test_the_image_judges_wheels_of_a_folder_as_a_user_without_rights():
    place = ROOT / FOLDER.strip("/")
    wheel = pathlib.Path(stub("sgl_kernel-0.3.21"))
    shutil.copy(wheel, place)
    (place / "matrix.toml").write_text('targets = ["*.whl"]\nproviders = ["torch==2.9.1", "torch==2.10.0"]\n')
    assert run_image("check", wheel.name, "--with", "torch==2.9.1").returncode == 0
    done = run_image("matrix", "matrix.toml")
    assert done.returncode == 1 and "FAILS SYM-001" in done.stdout, done.stdout + done.stderr


def test_the_image_holds_the_probe_and_what_the_probe_needs():
    done = run_image("probe", "--version")
    assert done.returncode == 0 and done.stdout.startswith("wheelvet-probe"), done.stderr


if __name__ == "__main__":
    main(globals())
