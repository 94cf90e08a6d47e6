"""What changed between two wheels, on the stubs of the real ones and on libraries made here."""

import json
import pathlib
import shutil
import subprocess
import tempfile

import support
from support import main, run, stub, validate

SGL = stub("sgl_kernel-0.3.21")
OLD = stub("torch-2.9.1")
NEW = stub("torch-2.10.0")
CHECK = "_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_ib"
LOGGER = "_ZN3c1013MessageLoggerC1EPKcii"
CC = shutil.which("cc") or shutil.which("gcc")
if not CC:
    support.skip("there is no C compiler")
WORK = tempfile.TemporaryDirectory()
ROOT = pathlib.Path(WORK.name)


def diff(*arguments):
    done = run("diff", *arguments, "--format", "json")
    assert done.stdout, done.stderr
    parsed = json.loads(done.stdout)
    validate(parsed, "diff")
    return done.returncode, parsed


def names_of(parsed, kind):
    return [name["symbol"] for change in parsed["changes"] if change["kind"] == kind for name in change["names"]]


def library(name, code, *flags):
    path = ROOT / name
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([CC, "-shared", "-fPIC", "-x", "c", "-", "-x", "none", "-o", path, *flags], input=code, text=True,
                   check=True)
    return path


def test_the_modules_of_a_user_that_break_are_those_that_check_says_fail():
    code, parsed = diff(OLD, NEW, "--used-by", SGL)
    assert code == 1 and parsed["breaks"]
    (user,) = parsed["users"]
    broken = sorted(module["name"] for module in user["modules"] if module["breaks"])
    assert broken == ["flash_ops", "flashmla_ops", "sm100/common_ops", "sm90/common_ops"], broken
    (finding,) = user["findings"]
    assert {symbol["symbol"] for symbol in finding["symbols"]} == {CHECK, LOGGER}


def test_the_names_that_the_user_imports_come_first():
    _, parsed = diff(OLD, NEW, "--used-by", SGL)
    assert set(names_of(parsed, "parameters")[:2]) == {CHECK, LOGGER}
    used = {name["symbol"] for change in parsed["changes"] for name in change["names"] if name.get("used")}
    assert {CHECK, LOGGER} <= used


def test_a_changed_parameter_is_neither_gone_nor_added():
    code, parsed = diff(OLD, NEW)
    assert code == 1
    assert CHECK in names_of(parsed, "parameters")
    assert CHECK not in names_of(parsed, "exports-gone")
    added = [name["new_symbol"] for change in parsed["changes"] if change["kind"] == "exports-added"
             for name in change["names"]]
    assert CHECK.replace("_ib", "_jb") not in added and added


def test_an_input_beside_itself_keeps_everything():
    code, parsed = diff(OLD, OLD, "--used-by", SGL, "--fail-on", "note")
    assert code == 0, parsed["changes"]
    assert parsed["changes"] == [] and not parsed["breaks"]


def test_a_user_that_imports_nothing_of_what_changed_stands():
    old = library("one/libx.so", "int kept(void){return 1;} int gone(void){return 2;}", "-Wl,-soname,libx.so")
    new = library("two/libx.so", "int kept(void){return 1;}", "-Wl,-soname,libx.so")
    flags = ("-Wl,-rpath,$ORIGIN",)
    content = library("content/user.so", "int kept(void); int user(void){return kept();}", old, *flags)
    broken = library("broken/user.so", "int gone(void); int user(void){return gone();}", old, *flags)
    assert diff(old, new)[0] == 1
    code, parsed = diff(old, new, "--used-by", content)
    assert code == 0 and not parsed["breaks"], parsed["users"]
    assert diff(old, new, "--used-by", content, "--fail-on", "warning")[0] == 1
    code, parsed = diff(old, new, "--used-by", content, "--used-by", broken)
    assert code == 1
    assert [user["breaks"] for user in parsed["users"]] == [False, True]


def test_what_cannot_be_read_is_no_answer():
    whole = library("whole/libx.so", "int kept(void){return 1;}")
    cut = ROOT / "cut/libx.so"
    cut.parent.mkdir()
    cut.write_bytes(whole.read_bytes()[:200])
    code, parsed = diff(cut, cut)
    assert code == 3 and parsed["problems"] and not parsed["complete"]
    assert run("diff", whole).returncode == 2
    assert run("diff", whole, ROOT / "none.so").returncode == 2


main(globals())
