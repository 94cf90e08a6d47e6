"""The wheel of this project, built as pip builds it, installed into a fresh environment and used there as a gate."""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib

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


def tool(prefix, *packages):
    """A fresh environment with tools of the index beside the program."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", prefix], check=True)
    done = pip("--python", prefix / "bin" / "python", "install", "-q", *packages)
    if done.returncode:
        skip(f"network: pip could not get {packages[0]}")
    return prefix / "bin"


def test_pre_commit_stops_a_wheel_that_does_not_load():
    tools = tool(WORK / "pre-commit", "pre-commit")
    repository = WORK / "sample"
    repository.mkdir()
    shutil.copy(stub("sgl_kernel-0.3.21"), repository)
    env = {"PATH": f"{PROGRAM.parent}:/usr/bin:/bin", "HOME": str(WORK), "GIT_CONFIG_GLOBAL": "/dev/null"}
    git = ["git", "-c", "user.name=n", "-c", "user.email=e"]
    ours = WORK / "ours"  # as it is published: what git tracks
    subprocess.run([*git, "clone", "-q", SOURCE, ours], check=True)
    for name in (".pre-commit-hooks.yaml", "action.yml"):
        shutil.copy(SOURCE / name, ours)
    subprocess.run([*git, "commit", "-qam", "as it is now", "--allow-empty"], cwd=ours, check=True)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ours, capture_output=True, text=True).stdout.strip()
    subprocess.run(["git", "init", "-q"], cwd=repository, check=True)
    for torch, code in (("2.10.0", 1), ("2.9.1", 0)):
        (repository / "matrix.toml").write_text(f'targets = ["*.whl"]\nproviders = ["torch=={torch}"]\n')
        (repository / ".pre-commit-config.yaml").write_text(
            f"repos:\n- repo: {ours}\n  rev: {head}\n  hooks:\n"
            f"  - {{id: wheelvet, args: [--with, 'torch=={torch}']}}\n  - {{id: wheelvet-matrix, args: [matrix.toml]}}\n")
        subprocess.run(["git", "add", "-A"], cwd=repository, check=True)
        done = subprocess.run([tools / "pre-commit", "run", "--all-files"], cwd=repository, env=env,
                              capture_output=True, text=True)
        assert done.returncode == code, done.stdout + done.stderr
        assert done.stdout.count("SYM-001 error") == 2 * code, done.stdout


def test_the_line_for_cibuildwheel_fails_a_wheel_that_does_not_load():
    """Its audit commands are run one by one with {wheel} put in, as cibuildwheel/audit.py does."""
    text = (SOURCE / "docs/ci.md").read_text()
    table = tomllib.loads(re.search(r"```toml\n(\[tool\.cibuildwheel.*?)```", text, re.S)[1])
    (line,) = [each for each in table["tool"]["cibuildwheel"]["linux"]["audit-command"] if "wheelvet" in each]
    for torch, code in (("2.10.0", 1), ("2.9.1", 0)):
        command = line.replace("2.10.0", torch).format(wheel=stub("sgl_kernel-0.3.21"))
        assert run(*shlex.split(command)[1:]).returncode == code


def test_manual_and_completions_are_installed():
    share = PROGRAM.parent.parent / "share"
    assert (share / "man/man1/wheelvet.1").read_text().startswith(".TH")
    assert "_wheelvet" in (share / "bash-completion/completions/wheelvet").read_text()


if __name__ == "__main__":
    main(globals())
