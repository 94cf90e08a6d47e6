"""The wheel of this project, built as pip builds it, installed into a fresh environment and used there as a gate."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

from support import SOURCE, main, skip, stub, validate

WORK = pathlib.Path(tempfile.mkdtemp())


def pip(*arguments):
    return subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", *map(str, arguments)],
                          capture_output=True, text=True)


def built_wheel():
    """The one named by WHEELVET_WHEEL, or a new one: minutes."""
    given = os.environ.get("WHEELVET_WHEEL")
    if given:
        return pathlib.Path(given)
    done = pip("wheel", "--no-deps", "-w", WORK, SOURCE)
    said = done.stdout + done.stderr
    if done.returncode and "No matching distribution found for scikit-build-core" in said:
        skip("network: pip could not get scikit-build-core")
    assert done.returncode == 0, said[-3000:]
    (wheel,) = WORK.glob("wheelvet-*.whl")
    return wheel


def installed(wheel):
    """The program in a fresh environment; there is nothing else in it."""
    prefix = WORK / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", prefix], check=True)
    done = pip("--python", prefix / "bin" / "python", "install", "--no-index", wheel)
    assert done.returncode == 0, done.stderr
    return prefix / "bin" / "wheelvet"


WHEEL = built_wheel()
PROGRAM = installed(WHEEL)


def run(*arguments):
    # Nothing of this shell: neither its PATH nor where its own programs and caches lie.
    clean = {"PATH": "/usr/bin:/bin", "HOME": str(WORK), "LC_ALL": "C.UTF-8"}
    return subprocess.run([str(PROGRAM), *map(str, arguments)], capture_output=True, text=True, env=clean, cwd=WORK)


def test_a_gate_in_a_fresh_environment_says_which_wheel_fails_and_writes_sarif():
    (WORK / "matrix.toml").write_text(f'targets = ["{stub("sgl_kernel-0.3.21")}"]\n'
                                      'providers = ["torch==2.9.1", "torch==2.10.0"]\n')
    done = run("matrix", "matrix.toml", "--format", "json", "--format=sarif=out.sarif")
    assert done.returncode == 1, done.stderr
    parsed = json.loads(done.stdout)
    validate(parsed, "matrix")
    assert [each["cell"]["result"] for each in parsed["cells"]] == ["loads", "FAILS SYM-001"]
    log = json.loads((WORK / "out.sarif").read_text())
    assert log["version"] == "2.1.0"
    errors = [each["ruleId"] for one in log["runs"] for each in one["results"] if each["level"] == "error"]
    assert errors == ["SYM-001"], errors


def test_the_program_vets_the_wheel_it_came_in():
    done = run("check", WHEEL, "--fail-on", "warning", "--ignore", "TAG")
    assert done.returncode == 0, done.stdout


def test_manual_and_completions_are_installed():
    share = PROGRAM.parent.parent / "share"
    assert (share / "man/man1/wheelvet.1").read_text().startswith(".TH")
    assert "_wheelvet" in (share / "bash-completion/completions/wheelvet").read_text()


if __name__ == "__main__":
    main(globals())
