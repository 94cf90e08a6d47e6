"""Releases of torch by their history, against stubs of the real wheels; and the truth of metadata."""

import pathlib
import tempfile
import zipfile

from support import answer, errors, failing, load_findings, main, report, run, stub

SGL = stub("sgl_kernel-0.3.21")
CHECK = "_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_ib"


def compat(*arguments):
    return answer("compat", "compat", *arguments)


def with_requirement(folder, line):
    """The stub with another Requires-Dist for torch."""
    path = pathlib.Path(folder) / pathlib.Path(SGL).name
    with zipfile.ZipFile(SGL) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            data = old.read(name)
            if name.endswith("/METADATA"):
                head, separator, rest = data.partition(b"\n\n")
                data = head + f"\nRequires-Dist: {line}".encode() + separator + rest
            new.writestr(name, data)
    return str(path)


def test_a_release_is_judged_as_the_stub_of_its_wheel_is():
    for version in ("2.9.1", "2.10.0"):
        code, by_history = report(SGL, "--with", f"torch=={version}", "--python", "3.12")
        expected, by_file = report(SGL, "--with", stub(f"torch-{version}"), "--python", "3.12")
        assert code == expected, (version, code, expected)
        ours, theirs = load_findings(by_history), load_findings(by_file)
        assert [root[:2] for root in ours["roots"]] == [root[:2] for root in theirs["roots"]], version
        assert ours["assumptions"] == theirs["assumptions"], version
        symbols = [[s["symbol"] for s in finding[4]] for finding in ours["findings"]]
        assert symbols == [[s["symbol"] for s in finding[4]] for finding in theirs["findings"]], version


def test_the_verdict_says_that_it_rests_on_the_history():
    _, parsed = report(SGL, "--with", "torch==2.9.1")
    assert any(line.startswith("torch==2.9.1: judged by the history") for line in parsed["scope"]), parsed["scope"]
    assert [each["kind"] for each in parsed["inputs"]] == ["stub", "release"]


def test_cause_and_fix_name_the_releases_of_both_sides_and_the_fix_is_verified():
    for beside in ("torch==2.10.0", stub("torch-2.10.0")):
        _, parsed = report(SGL, "--with", beside)
        (error,) = errors(parsed)
        assert error["cause"].startswith("built for torch 2.1.0 to 2.9.1; torch 2.10.0 changed"), error["cause"]
        assert "torch==2.9.1" in error["fix"]["text"] and error["fix"]["verified"], error["fix"]
        near = {symbol["symbol"]: symbol["near_misses"] for symbol in error["symbols"]}
        assert near[CHECK][0]["difference"] == "argument 4: int wanted, unsigned int exported", near[CHECK]


def test_a_build_that_was_not_read_is_undecided_where_cuda_is_concerned():
    code, parsed = report(SGL, "--with", "torch==2.9.1+cu130")
    assert code == 3, code
    assert parsed["verdict"] == "undecided" and not errors(parsed)
    assert any(finding["id"] == "PIN-001" for finding in parsed["findings"])


def test_without_torch_the_releases_and_the_next_command_are_told():
    _, parsed = report(SGL)
    (note,) = [finding for finding in parsed["findings"] if finding["id"] == "LIB-003"]
    assert any("2.9.0 to 2.9.1" in line for line in note["evidence"]), note
    assert "--with torch==2.9.1" in note["fix"]["text"], note


def test_an_unknown_release_is_wrong_usage_and_names_the_nearest():
    done = run("check", SGL, "--with", "torch==2.99.0")
    assert done.returncode == 2
    assert "nearest: 2.15.0" in done.stderr, done.stderr


def test_the_window_and_what_bounds_it():
    code, parsed = compat(SGL)
    assert code == 1, code
    assert parsed["window"] == "2.9.0 to 2.9.1", parsed["window"]
    assert parsed["pin"] == "torch>=2.9.0,<2.10.0", parsed["pin"]
    bounds = {bound["side"]: bound for bound in parsed["bounds"]}
    assert bounds["lower"]["version"] == "2.8.0" and bounds["upper"]["version"] == "2.10.0"
    upper = {symbol["symbol"] for finding in bounds["upper"]["findings"] for symbol in finding["symbols"]}
    assert CHECK in upper, upper
    assert all(bound["findings"] for bound in parsed["bounds"])
    assert {"Python", "glibc", "GLIBCXX", "CUDA"} <= {floor["what"] for floor in parsed["floors"]}


def test_metadata_is_absent_too_wide_exact_or_too_narrow():
    def ids(line):
        with tempfile.TemporaryDirectory() as folder:
            code, parsed = compat(with_requirement(folder, line) if line else SGL)
        return code, {finding["id"] for finding in parsed["findings"]} & {"PIN-003", "PIN-004", "PIN-005"}

    assert ids("") == (1, {"PIN-004"})
    assert ids("torch>=2.9") == (1, {"PIN-003"})
    assert ids("torch>=2.9.0,<2.10") == (0, set())
    assert ids("torch==2.9.1") == (0, {"PIN-005"})
    assert ids("torch==2.8.0") == (1, {"PIN-003", "PIN-005"})


def test_a_wheel_that_needs_no_torch_says_so():
    code, parsed = compat(stub("torch-2.9.1"))
    assert parsed["needs_torch"] is False and code == 0, (code, parsed["headline"])


def test_text_shows_the_window_the_bounds_and_the_pin():
    done = run("compat", SGL)
    for words in ("loads with torch 2.9.0 to 2.9.1", "lower bound: with torch 2.8.0", "upper bound: with torch 2.10.0",
                  "torch>=2.9.0,<2.10.0", CHECK):
        assert words in done.stdout, words


def test_what_is_no_wheel_is_wrong_usage():
    assert run("compat", "/etc").returncode == 2


main(globals())
