"""What a CI gate relies on: formats, configuration, suppressions, baseline, matrix."""

import html.parser
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import zipfile

from support import SOURCE, main, run, skip, stub, validate

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
    assert "<script" not in re.sub(r"`[^`\n]+`", "", shown["markdown"])
    import xml.dom.minidom
    xml.dom.minidom.parseString(shown["junit"])
    json.loads(shown["sarif"])


def test_formats_that_make_no_sense_are_wrong_usage():
    for arguments in (["--format", "yaml"], ["--format", "json", "--format", "text"], ["--format", "sarif="],
                      ["--format", "json=a", "--format", "sarif=a"]):
        done = run("check", SGL, *arguments)
        assert done.returncode == 2 and not done.stdout, (arguments, done)


if __name__ == "__main__":
    main(globals())
