"""What pip refuses to install is an error here, and what is an error here pip refuses, or it is proof of
tampering. One wheel with one thing wrong per row of the table; the pip of this machine is asked."""

import base64
import hashlib
import pathlib
import subprocess
import sys
import tempfile
import zipfile

from support import main, report, skip

WORK = pathlib.Path(tempfile.mkdtemp())
INFO = "foo-1.0.dist-info"
FILES = {
    "foo/__init__.py": b"x = 1\n",
    f"{INFO}/METADATA": b"Metadata-Version: 2.1\nName: foo\nVersion: 1.0\n",
    f"{INFO}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
}
NAME = "foo-1.0-py3-none-any.whl"


def record_of(files, info=INFO):
    rows = ""
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
        rows += f"{name},sha256={digest},{len(content)}\n"
    return rows + f"{info}/RECORD,,\n"


def wheel(folder, changes=None, record=None, info=INFO, name=NAME):
    """A good wheel but for `changes` (None removes a file) and `record` (a function of the good text)."""
    files = {path.replace(INFO, info): content for path, content in FILES.items()}
    for path, content in (changes or {}).items():
        files.pop(path, None)
        if content is not None:
            files[path] = content
    text = record_of(files, info)
    text = record(text) if record else text
    path = WORK / folder
    path.mkdir()
    with zipfile.ZipFile(path / name, "w") as archive:
        for member, content in files.items():
            archive.writestr(member, content)
        if text is not None:
            archive.writestr(f"{info}/RECORD", text)
    return path / name


def metadata(text):
    return {f"{INFO}/METADATA": b"Metadata-Version: 2.1\n" + text}


def without_first_row(text):
    return text.split("\n", 1)[1]


WHEEL_FILE, POINTS = f"{INFO}/WHEEL", f"{INFO}/entry_points.txt"
BARE = b"Name: foo\nVersion: 1.0\n"

# what is wrong: (arguments of wheel(), finding, its severity, does pip refuse it)
# "newer": only releases of pip from 24.1 on do, so that the one here is not asked.
TABLE = {
    "nothing": ({}, None, None, False),
    "no RECORD": ({"record": lambda text: None}, "REC-001", "error", True),
    "an empty line in RECORD": ({"record": lambda text: text + "\n"}, "REC-001", "error", True),
    "RECORD that is not UTF-8": ({"record": lambda text: text.encode() + b"\xff,,\n"}, "REC-001", "error", True),
    "a file not listed": ({"record": without_first_row}, "REC-002", "warning", False),
    "a file listed and absent": ({"record": lambda text: "foo/other.py,sha256=x,3\n" + text}, "REC-003", "warning",
                                 False),
    "another size": ({"record": lambda text: text.replace(",6\n", ",7\n")}, "REC-004", "error", "tampering"),
    "another hash": ({"record": lambda text: text.replace("sha256=", "sha256=A", 1)}, "REC-005", "error",
                     "tampering"),
    "md5": ({"record": lambda text: text.replace("sha256=", "md5=")}, "REC-006", "warning", False),
    "four fields": ({"record": lambda text: text.replace(",6\n", ",6,7\n")}, "REC-006", "warning", False),
    "a file listed twice": ({"record": lambda text: text.split("\n", 1)[0] + "\n" + text}, "REC-006", "warning",
                            False),
    "two .dist-info folders": ({"changes": {"bar-1.0.dist-info/METADATA": b"x"}}, "META-001", "error", True),
    "no .dist-info folder": ({"changes": dict.fromkeys(list(FILES)[1:]), "record": lambda text: None}, "META-001",
                             "error", True),
    "the folder of another project": ({"info": "bar-1.0.dist-info"}, "META-002", "error", True),
    "the folder of another version": ({"info": "foo-1.1.dist-info"}, "META-002", "warning", False),
    "a folder in capitals": ({"info": "Foo-1.0.dist-info"}, None, None, False),
    "no WHEEL": ({"changes": {WHEEL_FILE: None}}, "META-003", "error", True),
    "no Wheel-Version": ({"changes": {WHEEL_FILE: b"Tag: py3-none-any\n"}}, "META-003", "error", True),
    "Wheel-Version 2.0": ({"changes": {WHEEL_FILE: b"Wheel-Version: 2.0\n"}}, "META-003", "error", True),
    "Wheel-Version x": ({"changes": {WHEEL_FILE: b"Wheel-Version: x\n"}}, "META-003", "error", True),
    "Wheel-Version 1.9": ({"changes": {WHEEL_FILE: b"Wheel-Version: 1.9\n"}}, "META-003", "warning", False),
    "WHEEL that is not UTF-8": ({"changes": {WHEEL_FILE: b"Wheel-Version: 1.0\nX: \xff\n"}}, "META-003", "error",
                                True),
    "no METADATA": ({"changes": {f"{INFO}/METADATA": None}}, "META-004", "error", True),
    "METADATA that is not UTF-8": ({"changes": metadata(BARE + b"X: \xff\n")}, "META-004", "error", True),
    "METADATA without Version": ({"changes": metadata(b"Name: foo\n")}, "META-004", "error", True),
    "METADATA without Name": ({"changes": metadata(b"Version: 1.0\n")}, "META-004", "error", "newer"),
    "METADATA of another project": ({"changes": metadata(b"Name: bar\nVersion: 1.0\n")}, "META-004", "error",
                                    "newer"),
    "a file name without a version": ({"name": "foo-x.y-py3-none-any.whl"}, "META-004", "error", "newer"),
    "METADATA of another version": ({"changes": metadata(b"Name: foo\nVersion: 1.1\n")}, "META-005", "warning",
                                    False),
    "the version spelled otherwise": ({"changes": metadata(b"Name: Foo\nVersion: 1.0.0\n")}, None, None, False),
    "Requires-Python that excludes it": ({"changes": metadata(BARE + b"Requires-Python: <3\n")}, "META-006", "error",
                                         True),
    "Requires-Python that is none": ({"changes": metadata(BARE + b"Requires-Python: >=3.x\n")}, "META-009",
                                     "warning", False),
    "other tags in WHEEL": ({"changes": {WHEEL_FILE: b"Wheel-Version: 1.0\nTag: cp39-cp39-any\n"}}, "META-007",
                            "warning", False),
    "a scheme that is none": ({"changes": {"foo-1.0.data/what/x": b"x"}}, "META-008", "error", True),
    "a file right in .data": ({"changes": {"foo-1.0.data/x": b"x"}}, "META-008", "error", True),
    "headers": ({"changes": {"foo-1.0.data/headers/x.h": b"x"}}, None, None, False),
    "a requirement that is none": ({"changes": metadata(BARE + b"Requires-Dist: a>=1.*\n")}, "META-010", "error",
                                   "newer"),
    "a script without a function": ({"changes": {POINTS: b"[console_scripts]\nx = foo\n"}}, "META-011", "error",
                                    True),
    "a script without a target": ({"changes": {POINTS: b"[console_scripts]\nx\n"}}, "META-011", "error", True),
    "a good script": ({"changes": {POINTS: b"[console_scripts]\nx = foo:main\n[other]\ny = foo\n"}}, None, None,
                      False),
}


def pip_refuses(path):
    done = subprocess.run([sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-deps",
                           "--no-index", "--no-compile", "--target", path.parent / "out", path],
                          capture_output=True, text=True)
    return done.returncode != 0


def test_each_wheel_breaks_the_rule_of_its_row_and_pip_agrees():
    interpreter = f"{sys.version_info.major}.{sys.version_info.minor}"
    for row, (what, (arguments, rule, severity, refused)) in enumerate(TABLE.items()):
        path = wheel(str(row), **arguments)
        code, parsed = report(path, "--hash", "--python", interpreter)
        # The file name and folder of a wheel that was renamed differ in more than one way.
        found = {finding["id"]: finding["severity"] for finding in parsed["findings"]}
        assert found.get(rule) == severity, (what, found)
        if rule is None:
            assert not found, (what, found)
        assert (code == 1) == (severity == "error"), (what, code)
        if refused not in ("tampering", "newer"):
            assert pip_refuses(path) == refused, what


if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode:
    skip("this Python has no pip")
main(globals())
