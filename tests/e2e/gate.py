"""What a CI gate relies on: formats, configuration, suppressions, baseline, matrix."""

import html.parser
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import textwrap
import zipfile

from support import PROGRAM, SOURCE, main, run, skip, stub, validate

SGL = stub("sgl_kernel-0.3.21")
NEWER = stub("torch-2.10.0")
FITTING = stub("torch-2.9.1")
WORK = pathlib.Path(tempfile.mkdtemp())
FORMATS = ["json", "sarif", "junit", "markdown", "html", "github", "text"]


def formats(folder, *arguments):
    """All formats of one run, by name."""
    folder = WORK / folder
    folder.mkdir()
    done = run("check", *arguments, "-q", *(f"--format={name}={folder / name}" for name in FORMATS))
    return done.returncode, {name: (folder / name).read_text() for name in FORMATS}


CODE, SHOWN = formats("failing", SGL, "--with", NEWER)
PARSED = json.loads(SHOWN["json"])


def test_all_formats_of_one_run_have_the_same_findings():
    assert CODE == 1
    validate(PARSED, "report")
    wanted = sorted(each["id"] for each in PARSED["findings"])
    found = {
        "sarif": [each["ruleId"] for each in json.loads(SHOWN["sarif"])["runs"][0]["results"]],
        "junit": re.findall(r'<testcase classname="([A-Z]+-\d+)"', SHOWN["junit"]),
        "markdown": re.findall(r"^\*\*([A-Z]+-\d+)\*\*", SHOWN["markdown"], re.M),
        "html": re.findall(r"<h3>([A-Z]+-\d+) ", SHOWN["html"]),
        "github": re.findall(r"^::\w+ title=([A-Z]+-\d+)", SHOWN["github"], re.M),
    }
    for name, ids in found.items():
        assert sorted(ids) == wanted, (name, ids, wanted)


def test_two_runs_and_any_number_of_threads_give_the_same_bytes():
    _, again = formats("again", SGL, "--with", NEWER, "-j", "1")
    _, eight = formats("eight", SGL, "--with", NEWER, "-j", "8")
    for name in FORMATS:
        assert SHOWN[name] == again[name] == eight[name], name


def test_sarif_follows_its_schema():
    try:
        import jsonschema
    except ImportError:
        skip("the Python package jsonschema is not installed")
    schema = json.loads((SOURCE / "tests/data/sarif-2.1.0-rtm.4.json").read_text())
    log = json.loads(SHOWN["sarif"])
    jsonschema.Draft4Validator(schema).validate(log)
    (single,) = log["runs"]
    rules = [rule["id"] for rule in single["tool"]["driver"]["rules"]]
    assert rules == [each["id"] for each in json.loads(run("rules", "--format", "json").stdout)["rules"]]
    for result in single["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert re.fullmatch("[0-9a-f]{64}", result["partialFingerprints"]["wheelvetContent/v1"])
        place = result["locations"][0]["physicalLocation"]["artifactLocation"]
        assert single["artifacts"][place["index"]]["location"]["uri"] == place["uri"]


def test_junit_follows_the_common_schema():
    if not shutil.which("xmllint"):
        skip("xmllint is not installed")
    done = subprocess.run(["xmllint", "--noout", "--schema", SOURCE / "tests/data/junit-10.xsd",
                           "-"], input=SHOWN["junit"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    suite = re.search(r'<testsuite [^>]*tests="(\d+)" failures="(\d+)"', SHOWN["junit"])
    assert int(suite[1]) == SHOWN["junit"].count("<testcase ")
    assert int(suite[2]) == SHOWN["junit"].count("<failure ") == 5  # four modules and what ails them


class Page(html.parser.HTMLParser):
    VOID = {"meta"}

    def __init__(self):
        super().__init__()
        self.open, self.references, self.tags = [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.references += [(tag, name) for name, _ in attributes
                            if name in ("src", "href", "action", "data", "srcset", "style") or name.startswith("on")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, tag


def test_html_is_well_formed_and_refers_to_nothing():
    page = Page()
    page.feed(SHOWN["html"])
    assert page.open == [] and page.references == [], (page.open, page.references)
    assert page.tags.count("script") == page.tags.count("style") == 1
    assert "url(" not in SHOWN["html"] and "@import" not in SHOWN["html"] and "://" not in SHOWN["html"]
    assert "<mark>unsigned int</mark>" in SHOWN["html"]
    assert 'class="sortable"' in SHOWN["html"] and 'class="tree"' in SHOWN["html"]


def test_a_hostile_name_stays_text_in_every_format():
    name = "x/</code><script>alert(1)</script>\n::error::a|`@you`\x1b]0;\u202e&amp;.so"
    path = WORK / "names-1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(zipfile.ZipInfo(name), b"not an object")
    _, shown = formats("hostile", path)
    for form, text in shown.items():
        assert "\x1b" not in text and "\u202e" not in text, form
        assert not re.search(r"^\s*::error::", text, re.M), form
    page = Page()
    page.feed(shown["html"])
    assert page.tags.count("script") == 1 and page.open == []
    assert "alert(1)" in shown["html"]
    page = rendered(shown["markdown"])
    assert set(page.tags) <= {"h3", "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "code", "details",
                              "summary", "em", "ul", "li"}, page.tags
    assert "alert(1)" in page.text and all(len(row) == 2 for row in page.rows), page.rows
    import xml.dom.minidom
    xml.dom.minidom.parseString(shown["junit"])
    json.loads(shown["sarif"])


def test_formats_that_make_no_sense_are_wrong_usage():
    for arguments in (["--format", "yaml"], ["--format", "json", "--format", "text"], ["--format", "sarif="],
                      ["--format", "json=a", "--format", "sarif=a"]):
        done = run("check", SGL, *arguments)
        assert done.returncode == 2 and not done.stdout, (arguments, done)



def project(name, text, file="wheelvet.toml"):
    folder = WORK / name
    folder.mkdir()
    (folder / file).write_text(text)
    return folder


def checked(folder, *arguments, torch=NEWER, **options):
    """Exit code and report of a check that is run in a folder."""
    done = run("check", SGL, "--with", torch, "--format", "json", *arguments, cwd=folder, **options)
    parsed = json.loads(done.stdout)
    validate(parsed, "report")
    return done.returncode, parsed


def ids(parsed, **wanted):
    return sorted(each["id"] for each in parsed["findings"]
                  if all(bool(each[key]) == value for key, value in wanted.items()))


SUPPRESS = """
[[suppress]]
rule = "SYM-001"
object = "sgl_kernel/*"
reason = "waits for the build for torch 2.10"
"""


def test_the_command_line_goes_before_the_file_and_the_file_before_the_default():
    folder = project("precedence", 'fail-on = "warning"\n')
    assert checked(folder, torch=FITTING)[0] == 1
    assert checked(folder, "--fail-on", "error", torch=FITTING)[0] == 0
    assert checked(folder, "--no-config", torch=FITTING)[0] == 0
    (folder / "below").mkdir()
    code, parsed = checked(folder / "below", torch=FITTING)
    assert code == 1 and parsed["configuration"] == "../wheelvet.toml", parsed["configuration"]


def test_config_says_where_each_value_is_from():
    folder = project("origins", '[project]\nname = "x"\n[tool.wheelvet]\npython = "3.12"\nstrict = true\n'
                                '[tool.wheelvet.severity]\nVER-002 = "error"\n', "pyproject.toml")
    shown = json.loads(run("config", "--format", "json", "--fail-on", "note", cwd=folder).stdout)
    known = {each["key"]: (each["values"], each["origin"]) for each in shown["settings"]}
    assert shown["file"] == "pyproject.toml"
    assert known["python"] == (["3.12"], "pyproject.toml:4")
    assert known["strict"] == (["true"], "pyproject.toml:5")
    assert known["fail-on"] == (["note"], "command line")
    assert known["host"] == (["false"], "default")
    assert known["severity"] == (["VER-002 = error"], "pyproject.toml:7")
    text = run("config", cwd=folder).stdout
    assert "pyproject.toml:4" in text and "default" in text


def test_a_severity_of_ones_own_decides_the_exit_code():
    folder = project("severity", '[severity]\nSYM-001 = "note"\n')
    code, parsed = checked(folder)
    assert code == 0 and parsed["verdict"] == "fails"  # it does not load, whatever is thought of it
    folder = project("severity2", '[severity]\nLIB-002 = "error"\n')
    assert checked(folder, torch=FITTING)[0] == 1


def test_ignored_and_unselected_rules_are_shown_and_do_not_count():
    folder = project("ignore", 'ignore = ["SYM"]\n')
    code, parsed = checked(folder)
    assert code == 0 and ids(parsed, suppressed=True) == ["SYM-001"]
    folder = project("select", 'select = ["LIB-*"]\n')
    code, parsed = checked(folder, "--fail-on", "warning")
    assert code == 1 and set(ids(parsed, suppressed=False)) == {"LIB-002", "LIB-007"}


def test_a_suppression_covers_what_it_names_and_says_why():
    code, parsed = checked(project("suppress", SUPPRESS))
    assert code == 0
    (covered,) = [each for each in parsed["findings"] if each["suppressed"]]
    assert covered["suppressed"] == "waits for the build for torch 2.10 (wheelvet.toml:2)"
    text = run("check", SGL, "--with", NEWER, cwd=WORK / "suppress").stdout
    assert "1 suppressed" in text and "wheelvet.toml" in text


def test_a_finding_that_is_covered_in_part_counts():
    code, parsed = checked(project("part", SUPPRESS.replace("sgl_kernel/*", "flash_ops.abi3.so")))
    assert code == 1 and ids(parsed, suppressed=True) == []
    assert "CFG-001" not in ids(parsed)
    both = "".join(SUPPRESS.replace('object = "sgl_kernel/*"', f'symbol = "{name}"')
                   for name in ("c10::MessageLogger::*", "*c10_cuda_check*"))
    assert checked(project("both", both))[0] == 0


def test_a_suppression_that_matches_nothing_is_a_finding():
    code, parsed = checked(project("stale", SUPPRESS), torch=FITTING)
    assert code == 0 and "CFG-001" in ids(parsed)
    assert checked(WORK / "stale", "--fail-on", "warning", torch=FITTING)[0] == 1
    scoped = project("scoped", SUPPRESS + 'provider = "torch==2.10*"\n')
    assert "CFG-001" not in ids(checked(scoped, torch=FITTING)[1])
    assert checked(scoped)[0] == 0


def test_an_expired_suppression_hides_nothing_and_is_a_finding():
    folder = project("expiry", SUPPRESS + "until = 2026-05-31\n")
    before = dict(os.environ, SOURCE_DATE_EPOCH="1780185600")  # 2026-05-31
    after = dict(os.environ, SOURCE_DATE_EPOCH="1780272000")  # a day later
    assert checked(folder, env=before)[0] == 0
    code, parsed = checked(folder, env=after)
    assert code == 1 and "CFG-002" in ids(parsed) and ids(parsed, suppressed=True) == []


def test_a_baseline_lets_pass_what_it_has_and_nothing_new():
    full, part = WORK / "full.json", WORK / "part.json"
    full.write_text(SHOWN["json"])
    code, parsed = checked(WORK, "--baseline", full, "--fail-on", "note")
    assert code == 0 and ids(parsed, known=False) == []
    fewer = json.loads(SHOWN["json"])
    for finding in fewer["findings"]:
        finding["symbols"] = finding["symbols"][:1]
        finding["title"] = finding["title"].replace("2 symbols", "1 symbol")
    part.write_text(json.dumps(fewer))
    code, parsed = checked(WORK, "--baseline", part)
    assert code == 1 and ids(parsed, known=False) == ["SYM-001"]


def test_a_baseline_of_another_package_knows_nothing_of_this_one():
    """Its modules have the same file names and lack the same symbols."""
    other = WORK / "other_kernel-1.0-cp310-abi3-manylinux2014_x86_64.whl"
    with zipfile.ZipFile(SGL) as old, zipfile.ZipFile(other, "w", zipfile.ZIP_DEFLATED) as new:
        for info in old.infolist():
            data = old.read(info)
            if info.filename.endswith("/METADATA"):
                data = data.replace(b"Name: sgl-kernel", b"Name: other-kernel").replace(b"Version: 0.3.21", b"Version: 1.0")
            new.writestr(info.filename.replace("sgl_kernel-0.3.21.dist-info", "other_kernel-1.0.dist-info"), data)
    baseline = WORK / "other.json"
    done = run("check", other, "--with", NEWER, "--format", "json", "-o", baseline)
    assert done.returncode == 1 and "SYM-001" in ids(json.loads(baseline.read_text()))
    assert run("check", other, "--with", NEWER, "--baseline", baseline).returncode == 0
    code, parsed = checked(WORK, "--baseline", baseline)
    assert code == 1 and "SYM-001" in ids(parsed, known=False)


BAD = {
    '[[suppress]]\nrule = "SYM-001"\nobject = ""\nreason = "x"\n': ":3: object is empty: leave it out for any",
    'fail_on = "error"\n': ":1: unknown key fail_on; did you mean fail-on?",
    'x = 1\nfail-on = 3\n': ":1: unknown key x",
    '\nfail-on = 3\n': ":2: fail-on has to be a text, not a number",
    'fail-on = "warnings"\n': ":1: fail-on cannot be warnings; did you mean warning?",
    'strict = "yes"\n': ":1: strict has to be true or false, not a text",
    'select = ["SYM-01"]\n': ":1: no rule is called SYM-01; did you mean SYM-001?",
    'select = [1]\n': ":1: select has to be a text, not a number",
    'format = "yaml"\n': ":1: format: yaml is none of",
    'jobs = -1\n': ":1: jobs has to be a number from 0 to 1024",
    '[severity]\nLIB-002 = "fatal"\n': ":2: severity cannot be fatal",
    '[severity]\nLIB-2 = "error"\n': ":2: no rule is called LIB-2",
    'severity = 1\n': ":1: severity has to be a table",
    'suppress = 1\n': ":1: suppress has to be tables",
    '[[suppress]]\nrule = "SYM-001"\n': ":1: [suppress] needs a reason",
    '[[suppress]]\nrule = "SYM-001"\nreason = " "\n': ":3: [suppress] needs a reason",
    '[[suppress]]\nrule = "SYM-001"\nreason = "x"\nuntil = "soon"\n': ":4: until has to be a day",
    '[[suppress]]\nrule = "SYM-001"\nreason = "x"\nuntil = "2026-02-30"\n': ":4: until has to be a day",
    '[[suppress]]\nrule = "SYM-001"\nreason = "x"\nsymbols = "y"\n': ":4: unknown key symbols in [suppress]; "
                                                                     "did you mean symbol?",
    SUPPRESS + SUPPRESS: ":7: overlaps the suppression in line 2",
    SUPPRESS + SUPPRESS.replace("sgl_kernel/*", "sgl_kernel/flash_ops.abi3.so"): ":7: overlaps",
    'fail-on = \n': ":1: ",
    'baseline = "nowhere.json"\n': ":1: baseline: nowhere.json matches no file",
    'strict = true\nwith = ["nowhere.whl"]\n': ":2: with: nowhere.whl matches no file",
    'with = ["nothing-*.whl"]\n': ":1: with: nothing-*.whl matches no file",
    'env = "nowhere"\n': ":1: env: nowhere matches no file",
    'python = "three"\n': ":1: python: three is not of the form 3.12",
    'gpu = ["sm_120", "sm_90a"]\n': ":1: ",
    'driver = "new"\n': ":1: driver: new is not of the form 580.65.06",
    'platform = "arm64"\n': ":1: platform cannot be arm64",
}


BAD_PROJECT = {
    '[tool]\nwheelvet = 1\n': ":2: tool.wheelvet has to be a table",
    '[tool.wheelvet]\nfail-on = 3\n': ":2: fail-on has to be a text, not a number",
    '[tool.wheelvet]\nfail_on = "note"\n': ":2: unknown key fail_on in [tool.wheelvet]; did you mean fail-on?",
    '[tool.wheelvet]\nwith = "gone-*.whl"\n': ":2: with: gone-*.whl matches no file",
    '[tool.wheelvet]\nselect = ["SYM-*", 3]\n': ":2: select has to be a text, not a number",
    '[tool.wheelvet]\nenv = "."\n': ":2: env: ",
    '[tool.wheelvet.severity]\nLIB-2 = "error"\n': ":2: no rule is called LIB-2; did you mean LIB-002?",
    '[[tool.wheelvet.suppress]]\nrule = "SYM-1"\nreason = "x"\n': ":1: no rule is called SYM-1",
    '[[tool.wheelvet.suppress]]\nrule = ["SYM-001"]\nreason = "x"\n': ":2: rule has to be a text, not a list",
    '[[tool.wheelvet.suppress]]\nrule = "SYM-001"\nreason = "x"\nuntil = 2026-01-01T00:00:00\n': ":4: until has to be",
    '[[tool.wheelvet.suppress]]\nrule = "SYM"\nreason = "x"\n' * 2: ":4: overlaps the suppression in line 1",
    '[tool.wheelvet\n': ":1: ",
}


def test_a_project_file_that_makes_no_sense_is_named_with_file_and_line():
    for number, (text, wanted) in enumerate(BAD_PROJECT.items()):
        done = run("check", SGL, cwd=project(f"project{number}", text, "pyproject.toml"))
        assert done.returncode == 2 and "pyproject.toml" + wanted in done.stderr, (text, wanted, done.stderr)
    assert run("config", cwd=project("foreign", "tool = 1\n", "pyproject.toml")).returncode == 0


def test_a_configuration_that_makes_no_sense_is_named_with_file_and_line():
    for number, (text, wanted) in enumerate(BAD.items()):
        done = run("check", SGL, cwd=project(f"bad{number}", text))
        assert done.returncode == 2 and wanted in done.stderr, (text, wanted, done.stderr)
        assert "wheelvet.toml:" in done.stderr, done.stderr
        assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert run("check", SGL, "--config", WORK / "no.toml").returncode == 2
    assert run("check", SGL, "--ignore", "SYM-9").returncode == 2
    twice = project("twice", "strict = true\n")
    (twice / "pyproject.toml").write_text("[tool.wheelvet]\nstrict = true\n")
    done = run("check", SGL, cwd=twice)
    assert done.returncode == 2 and "both configure" in done.stderr


def test_what_is_no_text_file_of_a_persons_is_wrong_usage_with_file_and_line():
    heads = {"wheelvet.toml": "strict = true\n", "pyproject.toml": "[tool.wheelvet]\nstrict = true\n",
             "matrix.toml": f'targets = ["{SGL}"]\nproviders = ["torch==2.9.1"]\n'}
    for name, head in heads.items():
        folder = WORK / f"encoded-{name}"
        folder.mkdir()
        ask = ["matrix", name, "--no-cache"] if name == "matrix.toml" else ["config"]
        line = head.count("\n") + 1
        for good in (b"\xef\xbb\xbf" + head.encode(), head.replace("\n", "\r\n").encode()):
            (folder / name).write_bytes(good)
            assert run(*ask, cwd=folder).returncode == 0, (name, good)
        for bad, where in ((head.encode() + b"# \xe9\n", line), (head.encode("utf-16"), 1), (head.encode() + b"\0", line),
                           (head.encode() + b"#" * (1 << 20), 1), (head.encode() + b"x=" + b"[" * 5000, line),
                           (head.replace("\n", "\r\n").encode() + b"x = 1\r\n", line), (head.encode() * 2, None)):
            (folder / name).write_bytes(bad)
            done = run(*ask, cwd=folder)
            assert done.returncode == 2 and f"{name}:{where or ''}" in done.stderr, (name, bad[:80], done)
        if name == "pyproject.toml":
            continue  # it need not be ours
        (folder / name).unlink()
        (folder / name).mkdir()
        done = run(*ask, cwd=folder)
        assert done.returncode == 2 and f"{name}:1: " in done.stderr, done
        (folder / name).rmdir()
        (folder / name).symlink_to("nowhere")
        assert run(*ask, cwd=folder).returncode == 2


def test_every_cut_of_a_configuration_is_read_or_named():
    text = 'select = ["SYM-*"]\n[severity]\nVER-002 = "note"\n' + SUPPRESS + "until = 2027-01-01\n"
    folder = project("cuts", text)
    for size in range(0, len(text), 3):
        (folder / "wheelvet.toml").write_text(text[:size])
        done = run("config", cwd=folder)
        assert done.returncode in (0, 2) and (done.stdout or "wheelvet.toml:" in done.stderr), (size, done)


def matrix(name, text, *arguments, cache=False, **options):
    """Exit code and parsed JSON of a matrix over the stub wheels."""
    folder = WORK / name
    folder.mkdir(exist_ok=True)
    for wheel in (SGL, NEWER, FITTING):
        target = folder / pathlib.Path(wheel).name
        if not target.exists():
            target.symlink_to(wheel)
    (folder / "matrix.toml").write_text(text)
    kept = ["--cache", folder / "cache"] if cache else ["--no-cache"]
    done = run("matrix", folder / "matrix.toml", *kept, *arguments, "--format", "json", **options)
    parsed = json.loads(done.stdout)
    if "cells" in parsed:
        validate(parsed, "matrix")
    return done.returncode, parsed


def results(parsed):
    return {(each["cell"]["provider"], each["cell"]["scenario"]): each["cell"]["result"] for each in parsed["cells"]}


TWO = 'targets = ["sgl_kernel-*.whl"]\nproviders = ["torch-*.whl"]\n'
NEW, OLD = pathlib.Path(NEWER).name, pathlib.Path(FITTING).name


def test_a_matrix_gives_the_verdicts_of_single_checks():
    code, parsed = matrix("two", TWO)
    assert code == 1 and results(parsed) == {(NEW, ""): "FAILS SYM-001", (OLD, ""): "loads"}
    for cell, provider in zip(parsed["cells"], (NEWER, FITTING)):
        alone = json.loads(run("check", SGL, "--with", provider, "--format", "json").stdout)
        assert cell["report"] == alone


def matrix_formats(*arguments):
    """All formats of one matrix run, by name."""
    folder = pathlib.Path(tempfile.mkdtemp())
    done = run("matrix", WORK / "two" / "matrix.toml", "--no-cache", *arguments,
               *(f"--format={name}={folder / name}" for name in FORMATS + ["jsonl"]))
    return done.returncode, {name: (folder / name).read_text() for name in FORMATS + ["jsonl"]}


def test_all_formats_of_a_matrix_have_the_findings_that_fail_it():
    code, shown = matrix_formats()
    failing = [each["id"] for cell in json.loads(shown["json"])["cells"] for each in cell["report"]["findings"]
               if each["severity"] == "error"]
    assert code == 1 and failing == ["SYM-001"]
    everything = sorted(each["id"] for cell in json.loads(shown["json"])["cells"]
                        for each in cell["report"]["findings"])
    assert sorted(each["ruleId"] for one in json.loads(shown["sarif"])["runs"] for each in one["results"]) == everything
    assert sorted(re.findall(r"^::\w+ title=([A-Z]+-\d+)", shown["github"], re.M)) == everything
    assert sorted(re.findall(r"<h3>([A-Z]+-\d+) ", shown["html"])) == everything
    assert sorted(re.findall(r'<testcase classname="[^"]*?([A-Z]+-\d+)"', shown["junit"])) == everything
    assert re.findall(r"^\*\*([A-Z]+-\d+)\*\* error", shown["markdown"], re.M) == failing


def test_two_runs_of_a_matrix_and_any_number_of_threads_give_the_same_bytes():
    first = matrix_formats()
    assert matrix_formats("-j", "1") == first == matrix_formats("-j", "8")


class Rendered(html.parser.HTMLParser):
    """Cells of each table's rows; text of all."""

    def __init__(self):
        super().__init__()
        self.rows, self.text, self.tags, self.in_cell = [], "", [], False

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self.in_cell = True

    def handle_endtag(self, tag):
        self.in_cell = self.in_cell and tag not in ("td", "th")

    def handle_data(self, data):
        self.text += data
        if self.in_cell:
            self.rows[-1][-1] += data


def rendered(markdown):
    try:
        import markdown_it
    except ImportError:
        skip("the Python package markdown-it is not installed")
    page = Rendered()
    page.feed(markdown_it.MarkdownIt("commonmark").enable("table").render(markdown))
    return page


def test_markdown_is_rendered_to_whole_tables_that_hold_every_name():
    page = rendered(SHOWN["markdown"])
    assert page.rows and all(len(row) == 2 for row in page.rows), [row for row in page.rows if len(row) != 2]
    assert page.tags.count("table") == len(PARSED["findings"]) + 1  # and the modules
    for finding in PARSED["findings"]:
        assert finding["id"] in page.text
        for symbol in finding["symbols"]:
            assert ["symbol", symbol["symbol"]] in [[cell.strip() for cell in row] for row in page.rows]
    whole = rendered(matrix_formats()[1]["markdown"])
    widths = [len(row) for row in whole.rows]
    assert widths[:2] == [3, 3] and set(widths[2:]) == {2}, widths  # the matrix, then each finding
    assert whole.rows[1][1:] == ["❌ FAILS SYM-001", "✅ loads"], whole.rows[1]


def test_the_table_has_a_row_per_wheel_and_a_column_per_provider():
    text = run("matrix", WORK / "two" / "matrix.toml", "--no-cache").stdout
    head, row = text.splitlines()[2:4]
    assert row.startswith("  sgl_kernel-0.3.21 ")
    assert row.index("FAILS SYM-001") == head.index("torch-2.10.0")
    assert row.index("loads") == head.index("torch-2.9.1")


def test_scenarios_multiply_and_patterns_choose_cells():
    scenarios = '[[scenario]]\npython = "3.12"\n[[scenario]]\nname = "old"\npython = "3.10"\n'
    _, parsed = matrix("scenarios", TWO + scenarios)
    assert len(parsed["cells"]) == 4 and {key[1] for key in results(parsed)} == {"3.12", "old"}
    _, parsed = matrix("exclude", TWO + scenarios + '[[exclude]]\nscenario = "old"\nprovider = "torch-2.9*"\n')
    assert len(parsed["cells"]) == 3 and (OLD, "old") not in results(parsed)
    _, parsed = matrix("include", TWO + scenarios + '[[include]]\nscenario = "old"\n')
    assert {key[1] for key in results(parsed)} == {"old"}


EXPECT = '[[expect]]\nprovider = "torch-2.10*"\nrules = ["SYM-001"]\nreason = "built for 2.9"\n'


def test_an_expected_failure_passes_and_an_unexpected_pass_fails():
    code, parsed = matrix("expected", TWO + EXPECT)
    assert code == 0 and results(parsed)[NEW, ""] == "accepted SYM-001"
    code, parsed = matrix("surprise", TWO + EXPECT.replace("2.10*", "2.9*"))
    assert code == 1 and results(parsed) == {(NEW, ""): "FAILS SYM-001", (OLD, ""): "FAILS CFG-004"}
    code, parsed = matrix("other", TWO + EXPECT.replace("SYM-001", "LIB-001"))
    assert code == 1 and results(parsed)[NEW, ""].startswith("FAILS")
    (WORK / "both.toml").write_text(SUPPRESS)  # suppressed as well: it fails all the same
    code, parsed = matrix("twofold", TWO + EXPECT, "--config", WORK / "both.toml")
    assert code == 0 and results(parsed)[NEW, ""] == "accepted SYM-001"
    code, parsed = matrix("nowhere", TWO + EXPECT + EXPECT.replace("2.10*", "3.*"))
    assert code == 0 and [each["id"] for each in parsed["report"]["findings"]] == ["CFG-003"]


def test_parts_join_to_the_bytes_of_the_whole():
    for form in ("json", "jsonl", "sarif", "junit", "html", "markdown", "github", "text"):
        parts = []
        for part in (1, 2):
            parts.append(WORK / f"part-{part}.jsonl")
            run("matrix", WORK / "two" / "matrix.toml", "--no-cache", "--shard", f"{part}/2",
                f"--format=jsonl={parts[-1]}")
        whole = run("matrix", WORK / "two" / "matrix.toml", "--no-cache", "--format", form)
        joined = run("merge", *reversed(parts), "--format", form)
        assert joined.stdout == whole.stdout and joined.returncode == whole.returncode == 1, form
    alone = run("merge", parts[1])
    assert alone.returncode == 3 and "1 of 2 cells are in none of the parts" in alone.stdout
    cut = WORK / "cut.jsonl"
    cut.write_text(parts[0].read_text()[:-200])
    assert run("merge", cut, parts[1]).returncode == 3
    other = json.loads(parts[0].read_text().splitlines()[0])
    other["report"]["headline"] = "another"
    (WORK / "differs.jsonl").write_text(json.dumps(other) + "\n" + parts[0].read_text().splitlines()[1] + "\n")
    done = run("merge", *parts, WORK / "differs.jsonl")
    assert done.returncode == 2 and "disagree" in done.stderr


def test_parts_of_different_runs_are_not_joined():
    folder = WORK / "runs"
    folder.mkdir()
    def part(number, providers, *arguments):
        (folder / "matrix.toml").write_text(f'targets = ["{SGL}"]\nproviders = {json.dumps(providers)}\n')
        out = folder / f"{number}-{len(list(folder.iterdir()))}.jsonl"
        run("matrix", folder / "matrix.toml", "--no-cache", "--shard", f"{number}/2", f"--format=jsonl={out}", *arguments)
        return out
    first = part(1, ["torch==2.8.0", "torch==2.9.1"])
    second = part(2, ["torch==2.8.0", "torch==2.9.1"])
    assert run("merge", first, second).returncode == 1
    for other in (part(2, ["torch==2.8.0", "torch==2.11.0"]),
                  part(2, ["torch==2.8.0", "torch==2.9.1"], "--ignore", "SYM"),
                  part(2, ["torch==2.8.0", "torch==2.9.1"], "--hash")):
        done = run("merge", first, other)
        assert done.returncode == 2 and "parts of different runs of matrix.toml" in done.stderr, done


def test_more_parts_than_cells_join_to_the_whole():
    parts = []
    for number in range(1, 6):
        parts.append(WORK / f"many-{number}.jsonl")
        run("matrix", WORK / "two" / "matrix.toml", "--no-cache", "--shard", f"{number}/5", f"--format=jsonl={parts[-1]}")
    whole = run("matrix", WORK / "two" / "matrix.toml", "--no-cache", "--format", "json")
    assert run("merge", *parts, "--format", "json").stdout == whole.stdout


def test_a_suppression_is_stale_only_when_no_part_uses_it():
    (WORK / "two" / "wheelvet.toml").write_text(SUPPRESS)
    parts = []
    for part in (1, 2):
        parts.append(WORK / f"gated-{part}.jsonl")
        done = run("matrix", "matrix.toml", "--no-cache", "--shard", f"{part}/2", f"--format=jsonl={parts[-1]}",
                   cwd=WORK / "two")
        assert done.returncode == 0 and "CFG-001" not in done.stdout, done.stdout
    assert "CFG-001" not in run("merge", *parts).stdout
    (WORK / "two" / "wheelvet.toml").write_text(SUPPRESS.replace("sgl_kernel/*", "nothing"))
    done = run("matrix", "matrix.toml", "--no-cache", cwd=WORK / "two")
    assert done.stdout.count("CFG-001") == 1
    (WORK / "two" / "wheelvet.toml").unlink()


def test_the_cache_gives_the_same_bytes_and_knows_another_wheel_by_its_content():
    first = matrix("cached", TWO, cache=True)
    kept = list((WORK / "cached" / "cache").iterdir())
    assert len(kept) == 2
    assert matrix("cached", TWO, cache=True) == first == matrix("cached", TWO)
    text = run("matrix", WORK / "cached" / "matrix.toml", "--cache", WORK / "cached" / "cache").stdout
    assert "2 from the cache" in text
    for each in kept:
        each.write_text("{}")
    assert matrix("cached", TWO, cache=True) == first  # what is no report is judged again
    texts = [each.read_text() for each in kept]
    for each, changed in ((kept[0], texts[1]), (kept[0], texts[0].replace("sgl-kernel 0.3.21", "sgl-kernel 0.3.22")),
                          (kept[0], texts[0][:-100]), (kept[1], "")):
        each.write_text(changed)  # another's, changed, cut, empty
        assert matrix("cached", TWO, cache=True) == first, changed[:100]
    wheel = WORK / "cached" / pathlib.Path(SGL).name
    wheel.unlink()
    with zipfile.ZipFile(SGL) as old, zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as new:
        for info in old.infolist():
            new.writestr(info, old.read(info) + (b"\n" if info.filename.endswith("METADATA") else b""))
    text = run("matrix", WORK / "cached" / "matrix.toml", "--cache", WORK / "cached" / "cache").stdout
    assert "from the cache" not in text


BAD_MATRIX = {
    "": ":1: targets names nothing",
    'targets = ["*.nothing"]\n': ":1: *.nothing matches no file",
    'targets = ["sgl*"]\nproviders = ["torch-1*"]\n': ":2: torch-1* matches no file",
    'target = ["x"]\n': ":1: unknown key target; did you mean targets?",
    'targets = 1\n': ":1: targets has to be a text, not a number",
    'targets = ["sgl*"]\n[[provider]]\nwith = ["torch-*"]\n': ":2: [provider] of several inputs",
    'targets = ["sgl*"]\n[[provider]]\nname = "x"\n[[provider]]\nname = "x"\n': ":5: two providers are called x",
    'targets = ["sgl*"]\n[[expect]]\ntarget = "*"\n': ":2: [expect] needs a reason",
    'targets = ["sgl*"]\n[[expect]]\nrules = ["X"]\nreason = "x"\n': ":3: no rule is called X",
    'targets = ["sgl*"]\n[[exclude]]\ntarget = "*"\n': "leave no cell",
    'targets = ["sgl*"]\n[[exclude]]\n': ":2: [exclude] says nothing",
    'targets = ["sgl*"]\n[[scenario]]\nimport = "torch"\n': ":2: [scenario] needs a name, a python or a gpu",
    'targets = ["sgl*"]\n[[scenario]]\npython = "3"\n': ":3: python: 3 is not of the form",
    'targets = ["sgl*"]\n[[scenario]]\ngpu = "sm_90a"\n': ":3: ",
    'targets = ["sgl*"]\n[[provider]]\nname = "x"\nenv = "nowhere"\n': ":4: ",
    'targets = ["sgl*"\nproviders = []\n': ":2: ",
    'targets = ["sgl*"]\nproviders = [["torch-*"]]\n': ":2: providers has to be a text, not a list",
    'targets = ["sgl*"]\n[[provider]]\nname = 3\n': ":3: name has to be a text, not a number",
    'targets = ["sgl*"]\n[[provider]]\nname = "x"\nwith = ["gone.whl"]\n': ":4: gone.whl matches no file",
    'targets = ["sgl*"]\n[[include]]\nwheel = "x"\n': ":3: unknown key wheel in [include]",
    'targets = ["sgl*"]\nscenario = 1\n': ":2: scenario has to be tables",
    'targets = ["sgl*"]\n[expect]\nreason = "x"\n': ":2: expect has to be tables",
    'targets = ["sgl*"]\n[[expect]]\nreason = "x"\nuntil = 2026-01-01\n': ":4: unknown key until in [expect]",
    'targets = ["sgl*"]\n[[scenario]]\nname = "x"\n[[scenario]]\nname = "x"\n': ":5: two scenarios are called x",
    f'targets = ["sgl*", "{SGL}"]\n': ":1: two targets are called sgl_kernel",
    'targets = ["sgl*"]\n[[provider]]\nname = "x"\nenv = "."\n': ":4: ",
}


def test_a_matrix_file_that_makes_no_sense_is_named_with_file_and_line():
    for text, wanted in BAD_MATRIX.items():
        (WORK / "two" / "bad.toml").write_text(text)
        done = run("matrix", WORK / "two" / "bad.toml")
        assert done.returncode == 2 and wanted in done.stderr and "bad.toml" in done.stderr, (text, done.stderr)
    for shard in ("0/2", "3/2", "1", "x/y", "1/2/3", "-1/2", ""):
        done = run("matrix", WORK / "two" / "matrix.toml", f"--shard={shard}")
        assert done.returncode == 2 or not shard, shard
    assert run("matrix", WORK / "none.toml").returncode == 2


def test_inputs_that_do_not_go_together_are_told_in_their_cell():
    code, parsed = matrix("clash", 'targets = ["sgl_kernel-*.whl"]\n[[provider]]\nname = "both"\n'
                                   'with = ["torch-2.9*", "torch-2.10*"]\n[[provider]]\nname = "one"\n'
                                   'with = ["torch-2.9*"]\n')
    assert code == 3 and results(parsed) == {("both", ""): "undecided", ("one", ""): "loads"}



def test_an_environment_is_a_column_and_gives_the_verdict_of_a_check_over_it():
    prefix = WORK / "venv"
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", prefix], check=True)
    (site,) = prefix.glob("lib/python3*/site-packages")
    with zipfile.ZipFile(FITTING) as wheel:
        wheel.extractall(site)
    columns = TWO + f'[[provider]]\nname = "prod"\nenv = "{prefix}"\n'
    code, parsed = matrix("environment", columns)
    assert code in (1, 3) and len(parsed["cells"]) == 3
    alone = json.loads(run("check", SGL, "--env", prefix, "--format", "json").stdout)
    assert alone["inputs"][1]["kind"] == "folder"
    assert [cell["report"] for cell in parsed["cells"] if cell["cell"]["provider"] == "prod"] == [alone]


def test_the_action_of_github_runs_what_it_is_given_and_nothing_else():
    """The step of action.yml as a runner starts it: inputs as variables, bash -e."""
    folder = WORK / "action"
    folder.mkdir()
    shutil.copy(SGL, folder)
    action = (SOURCE / "action.yml").read_text()
    script = textwrap.dedent(re.search(r"- name: Judge\n.*?run: \|\n(.*)", action, re.S)[1])
    (summary := folder / "summary.md").write_text("")
    def judged(arguments, sarif):
        path = f"{pathlib.Path(PROGRAM).parent}:/usr/bin:/bin"
        return subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script], cwd=folder,
                              env={"PATH": path, "HOME": str(folder), "ARGUMENTS": arguments, "SARIF": sarif,
                                   "GITHUB_STEP_SUMMARY": str(summary)}, capture_output=True, text=True)
    done = judged("check *.whl --with torch==2.10.0", "out.sarif")
    assert done.returncode == 1 and "::error title=SYM-001" in done.stdout, done
    assert "SYM-001" in summary.read_text()
    assert json.loads((folder / "out.sarif").read_text())["version"] == "2.1.0"
    assert judged("check *.whl --with torch==2.9.1", "").returncode == 0
    done = judged("check $(touch made);touch made --with `touch made`", "")
    assert done.returncode == 2 and not (folder / "made").exists(), done


def test_completions_and_manual_know_every_command_and_option():
    helps = run("--help").stdout.split("Examples")[0]
    commands = re.findall(r"^  ([a-z]+) +[a-zA-Z]", helps[helps.index("Subcommands"):], re.M)
    assert {"check", "matrix", "merge", "config"} <= set(commands)
    manual = run("manual").stdout.replace("\\-", "-")
    scripts = {shell: run("completion", shell).stdout for shell in ("bash", "zsh", "fish")}
    for command in commands:
        assert f".SS {command}" in manual
        assert all(command in script for script in scripts.values())
        if command == "probe":
            continue  # a program of its own
        for option in re.findall(r"^  (?:-\w,)?--([a-z-]+)", run(command, "--help").stdout.split("Examples")[0], re.M):
            assert f"--{option}" in manual and f"--{option}" in scripts["bash"], option
            assert re.search(rf"\*--{option}=?\[", scripts["zsh"]) and f"-l {option}" in scripts["fish"], option
    assert run("completion", "tcsh").returncode == 2
    if shutil.which("man"):
        done = subprocess.run(["man", "--warnings", "-l", "-"], input=run("manual").stdout, capture_output=True,
                              text=True, env=dict(os.environ, LC_ALL="C.UTF-8"))
        assert done.returncode == 0 and not done.stderr, done.stderr


def test_bash_completes_options_and_their_values():
    script = run("completion", "bash").stdout
    ask = """COMP_WORDS=(%s); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _wheelvet; printf '%%s ' "${COMPREPLY[@]}" """
    def complete(words):
        return subprocess.run(["bash", "-c", script + ask % words], capture_output=True, text=True).stdout.split()
    assert complete("wheelvet mat") == ["matrix"]
    assert complete("wheelvet check --fail") == ["--fail-on"]
    assert complete("wheelvet check --fail-on w") == ["warning"]
    assert complete("wheelvet check --fail-on = w") == ["warning"]  # --fail-on=w, as Readline splits it
    assert complete("wheelvet matrix --format json") == ["json", "jsonl"]
    assert complete("wheelvet check --format json") == ["json"]
    assert complete("wheelvet schema re") == ["report"]


def test_rules_shows_all_that_are_named_or_says_which_there_is_not():
    done = run("rules", "SYM-001", "LIB-002")
    assert re.findall(r"^([A-Z]+-\d+) \(", done.stdout, re.M) == ["SYM-001", "LIB-002"]
    done = run("rules", "SYM-001", "LIB-999")
    assert done.returncode == 2 and "no rule LIB-999" in done.stderr and not done.stdout
    assert run("schema", "report", "matrix").returncode == 2


def test_the_version_tells_of_rules_and_history():
    lines = run("--version").stdout.splitlines()
    assert lines[0].startswith("wheelvet ")
    assert re.fullmatch(r"rules    [0-9a-f]{12}", lines[1]), lines
    assert re.match(r"history  torch 2\.\d+\.\d+ to 2\.\d+\.\d+", lines[2]), lines


if __name__ == "__main__":
    main(globals())
