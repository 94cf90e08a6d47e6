"""Names that somebody else chose, in every output of every command: no control, bidirectional or other unseen
character, two different names never alike, and no markup of theirs becomes markup of the report's."""

import html.parser
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

from raw_zip import UTF8, Entry, archive
from support import PROGRAM, SOURCE, main, skip

sys.path.insert(0, str(SOURCE / "tests" / "malformed"))
import elf_file  # noqa: E402

WORK = pathlib.Path(tempfile.mkdtemp())
# C0 but NUL, DEL, C1, soft hyphen, bidirectional controls, separators, zero width, fillers, tags, noncharacters.
UNSEEN = [chr(c) for c in (*range(1, 0x20), *range(0x7F, 0xA0), 0xAD, 0x34F, 0x61C, 0x115F, 0x180E, *range(0x200B, 0x2010),
                           *range(0x2028, 0x202F), *range(0x2060, 0x2070), 0x3164, 0xFE0F, 0xFEFF, *range(0xFFF9, 0xFFFC),
                           0xE000, 0xE0001, 0xE0041, 0xE007F, 0xE0100, 0x1FFFF, 0x10FFFF)]
NOT_UTF8 = [b"\x80", b"\xff", b"\xc3", b"\xc0\xaf", b"\xe2\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"]
PIECES = [c.encode() for c in UNSEEN] + NOT_UTF8
ALL = b"".join(PIECES)
# What the escape of one of them looks like, or what some form of output treats as the same.
LOOKALIKES = [b"", b"\\", b"\\\\", b"\\x1b", b"\\x0a", b"\\u{202e}", b"\\xff", b"`", b"'", b"\"", b"&#39;", b"&amp;", b"&", b"%0A",
              b"%", b" ", b"|", b"\\|", b"<br>", b"@a", b"`@a", b"'@a"]
MATRIX_FORMATS = ("jsonl", "sarif", "junit", "markdown", "html", "github")
FORMATS = ("text", "json", "sarif", "junit", "markdown", "html", "github")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def run(*arguments, environment=None):
    return subprocess.run([PROGRAM, *map(os.fsencode, map(os.fspath, arguments))], capture_output=True, timeout=100,
                          env={**os.environ, **(environment or {})})


def clean(text, what):
    """The text of an output, which is UTF-8 and holds nothing unseen but the ends of its own lines."""
    decoded = text.decode()
    seen = sorted({c for c in decoded if c in UNSEEN and c != "\n"})
    assert not seen, (what, [hex(ord(c)) for c in seen], decoded[:300])
    return decoded


def clean_json(value, what):
    """No string of a JSON document decodes to something unseen."""
    if isinstance(value, str):
        clean(value.encode("utf-8", "surrogatepass"), what)
    elif isinstance(value, dict):
        for key, each in value.items():
            clean_json(key, what)
            clean_json(each, what)
    elif isinstance(value, list):
        for each in value:
            clean_json(each, what)


def libraries(name):
    """Two shared objects with that name in every place that holds one."""
    symbol, cplusplus = b"sym" + name, b"_ZN3c10%d%sEv" % (len(name) + 1, b"n" + name)
    user = elf_file.library(
        b"lib" + name + b".so", needed=[b"gone" + name + b".so", b"libprov.so"], runpath=b"$ORIGIN:/r" + name,
        symbols=[elf_file.Symbol(symbol, False), elf_file.Symbol(cplusplus, False),
                 elf_file.Symbol(b"v" + name, False, b"V" + name, "libprov.so"),
                 elf_file.Symbol(b"w" + name, False, b"W" + name, "libprov.so"),
                 elf_file.Symbol(b"own" + name, version=b"MINE" + name)], defines=(b"MINE" + name,))
    provider = elf_file.library("libprov.so", symbols=[elf_file.Symbol(b"v" + name, version=b"V" + name),
                                                       elf_file.Symbol(b"extra" + name)], defines=(b"V" + name,))
    return bytes(user.bytes), bytes(provider.bytes)


def wheel(name, path, imports=b"torch"):
    """`path`, a wheel in which every text holds `name`, as far as the text's own form lets it."""
    user, provider = libraries(name)
    line = name.translate(None, b"\n\r\x0b\x0c\x1c\x1d\x1e")  # what ends a line to some reader
    info = b"pkg-1.dist-info"
    entries = [Entry(b"pkg/m" + name + b".so", user), Entry(b"pkg/libprov.so", provider),
               Entry(b"pkg/t" + name + b".so", b"text"),
               Entry(b"pkg/__init__.py", b"import ctypes\nctypes.CDLL('lib" + line.replace(b"'", b"") + b".so')\n"),
               Entry(info + b"/METADATA", b"Metadata-Version: 2.1\nName: n" + line + b"\nVersion: 1" + line +
                     b"\nRequires-Python: >=" + line + b"\nRequires-Dist: r" + line + b">=1\nRequires-Dist: " + imports +
                     b"==" + line + b"\n"),
               Entry(info + b"/WHEEL", b"Wheel-Version: 1" + line + b"\nTag: t" + line + b"-a-b\n"),
               Entry(info + b"/entry_points.txt", b"[console_scripts]\ne" + line + b" = " + line + b"\n"),
               Entry(info + b"/RECORD", b"listed" + line + b",sha256=" + line + b",1" + line + b"\n")]
    for entry in entries:
        entry.both(flags=UTF8)
    pathlib.Path(os.fsdecode(path)).write_bytes(archive(entries))
    return path


def rendered(*arguments):
    """form -> bytes of every form of one report."""
    folder = WORK / "forms"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    forms = [option for form in FORMATS for option in ("--format", f"{form}={folder / form}")]
    done = run(*arguments, *forms)
    assert done.returncode in (0, 1, 3), done
    out = {form: (folder / form).read_bytes() for form in FORMATS}
    clean(done.stdout + done.stderr, (arguments, "streams"))
    return out


def folder_of(name, path):
    (path / "pkg").mkdir(parents=True)
    user, provider = libraries(name)
    pathlib.Path(os.fsdecode(bytes(path) + b"/pkg/m" + name.replace(b"/", b"") + b".so")).write_bytes(user)
    (path / "pkg" / "libprov.so").write_bytes(provider)
    return path


FILE_NAME = ALL  # Linux takes every byte but NUL and /
SHORT = b"".join(PIECES[:60])  # a path component has 255 bytes at most


def test_nothing_unseen_in_any_form_of_a_report():
    path = wheel(ALL, WORK / "unseen-1-py3-none-any.whl")
    for arguments in ((), ("-v",), ("--hash",), ("--alone",)):
        for form, text in rendered("check", path, *arguments).items():
            shown = clean(text, (arguments, form))
            assert "\\x1b" in shown or "\\\\x1b" in shown or form == "github", (form, shown[:400])
            if form in ("json", "sarif"):
                clean_json(json.loads(text), (arguments, form))
            if form == "junit":
                clean_json([each.text or "" for each in xml.etree.ElementTree.fromstring(text).iter()], (form, "text"))


def test_nothing_unseen_with_colours():
    path = wheel(ALL, WORK / "colour-1-py3-none-any.whl")
    for command in (("check", path), ("check", path, "-v"), ("inspect", path, "--imports"), ("diff", path, path)):
        done = run(*command, "--color", "always")
        clean(COLOUR.sub("", done.stdout.decode()).encode() + done.stderr, command)


def test_nothing_unseen_in_what_the_other_commands_print():
    path = wheel(ALL, WORK / "old-1-py3-none-any.whl")
    other = wheel(ALL[::2], WORK / "new-1-py3-none-any.whl")
    folder = folder_of(SHORT, WORK / "tree")
    (object_file,) = [each for each in os.listdir(bytes(folder / "pkg")) if each.startswith(b"m")]
    library = os.fsdecode(bytes(folder / "pkg") + b"/" + object_file)
    stub = WORK / "stub-1-py3-none-any.whl"
    run("stub", path, "-o", stub)
    assert stub.exists()
    matrix = WORK / "matrix.toml"
    matrix.write_text(f"targets = ['{path}']\nproviders = [['{other}'], []]\n")
    text = b"ImportError: /x" + ALL + b"/m.so: undefined symbol: _ZN3c10" + ALL + b"Ev, version " + ALL
    commands = [("inspect", path), ("inspect", path, "--imports"), ("inspect", path, "--exports"),
                ("inspect", path, "--headers"), ("inspect", path, "--device", "--kernels"), ("inspect", library),
                ("inspect", folder, "-v"), ("check", folder), ("check", library), ("check", stub, "-v"),
                ("check", path, "--with", other), ("check", folder, "--with", other), ("diff", path, other),
                ("diff", path, other, "-v", "--used-by", folder), ("diff", library, WORK / "tree/pkg/libprov.so"),
                ("compat", path), ("compat", path, "-v"), ("explain", text), ("explain", text, path),
                ("explain", text, folder, "-v"), ("matrix", matrix), ("matrix", matrix, "-v"), *(("matrix", matrix, "--format", form) for form in MATRIX_FORMATS), ("doctor", "--sysroot", folder),
                ("check", WORK / "tree" / os.fsdecode(SHORT)), ("check", os.fsdecode(SHORT) + "==1"), ("rules", SHORT),
                ("schema", SHORT), (SHORT,), ("check", b"--" + SHORT), ("check", path, "--format", SHORT),
                ("check", path, "--import", SHORT), ("check", path, "--python", SHORT), ("check", path, "-o", SHORT + b"/x"),
                ("inspect", path, "--match", SHORT)]
    for command in commands:
        for form in ("text", "json"):
            options = ("--format", form) if b"--format" not in command and "--format" not in command else ()
            done = run(*command, *options)
            assert done.returncode in (0, 1, 2, 3), (command, done)
            clean(done.stdout, (command, form))
            clean(done.stderr, (command, form))
            if form == "json" and done.stdout.startswith(b"{"):
                clean_json(json.loads(done.stdout), (command, form))


def test_nothing_unseen_of_an_environment():
    """A prefix whose folders, packages, path files and settings hold such names."""
    prefix = WORK / "env"
    site = prefix / "lib/python3.12/site-packages"
    folder_of(SHORT, site)
    (prefix / "bin").mkdir()
    shutil.copy("/bin/true", prefix / "bin/python3")
    (prefix / "pyvenv.cfg").write_bytes(b"home = /x" + ALL + b"\nversion = 3.12.1\n")
    (site / "a.pth").write_bytes(b"/p" + SHORT.replace(b"\n", b"") + b"\nimport os" + SHORT.replace(b"\n", b"") + b"\n")
    (site / "sitecustomize.py").write_bytes(b"import os\nos.environ['LD_LIBRARY_PATH'] = '/q" +
                                            SHORT.translate(None, b"\n\r\\'") + b"'\n")
    info = site / "pkg-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_bytes(b"Metadata-Version: 2.1\nName: p" + SHORT.replace(b"\n", b"") + b"\nVersion: 1\n")
    (info / "RECORD").write_bytes(b"pkg/libprov.so,,\n" + SHORT.replace(b"\n", b"") + b",,\n")
    dirty = {"LD_LIBRARY_PATH": "/l" + os.fsdecode(SHORT), "NCCL_DEBUG": os.fsdecode(SHORT),
             "LD_PRELOAD": "", "CUDA_HOME": "/c" + os.fsdecode(SHORT), "PYTHONPATH": "/y" + os.fsdecode(SHORT)}
    unit = WORK / "job.service"
    unit.write_bytes(b"[Service]\nEnvironment=NCCL_SOCKET_IFNAME=" + SHORT.replace(b"\n", b"") + b"\nExecStart=/x" +
                     SHORT.replace(b"\n", b"") + b"\n")
    for command in (("check", "--env", prefix), ("check", "--env", prefix, "-v"), ("doctor", "--env", prefix),
                    ("doctor", "--env", prefix, "-v", "--unit", unit),
                    ("explain", b"undefined symbol: x" + SHORT, "--env", prefix)):
        for form in ("text", "json"):
            done = run(*command, "--format", form, environment=dirty)
            assert done.returncode in (0, 1, 3), (command, done)
            clean(done.stdout + done.stderr, (command, form))
            if form == "json":
                clean_json(json.loads(done.stdout), (command, form))


def test_different_names_are_never_shown_alike():
    known = {}
    names = [b"a" + piece + b"b" for piece in PIECES + LOOKALIKES]
    for name in names:
        path = wheel(name, WORK / "apart-1-py3-none-any.whl")
        for form, text in rendered("check", path, "-v").items():
            # What an archive is known by is a hash: that alone would keep them apart.
            text = re.sub(rb"[0-9a-f]{16,}", b"", text)
            before = known.setdefault((form, text), name)
            assert before == name, (form, before, name)


MARKUP = [b"<script>alert(1)</script>", b"\"><img src=x onerror=alert(1)>", b"'><svg onload=a>", b"</td></tr></table><h1>x</h1>",
          b"`code` ``code``", b"a|b|c", b"]]>", b"]]><x/>", b"&lt;b&gt;&amp;", b"<!-- x -->", b"--><b>", b"::error file=x::y",
          b"%0A::error::y", b"\n::error::y", b"\r::set-output name=a::b", b"[a](javascript:x)", b"![a](http://x.example/y)",
          b"**bold** __b__ ~~s~~", b"# h", b"- item", b"> quote", b"@octocat #12 GH-3", b"<https://x.example>",
          b"${{ x }} {{ y }}", b"\\`a\\`", b"a\\", b"`", b"``", b"|", b"\\|", b"<", b"&#60;script&#62;", b"=cmd|' /C calc'!A0",
          b"<a href=x>", b"<details>", b"::add-mask::a", b"##[error]x", b"http://x.example/a?b=c&d"]


class Tags(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.seen, self.words = [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.seen.append((tag, tuple(sorted(name for name, _ in attributes))))
        for name, value in attributes:
            assert not name.startswith("on") and "javascript:" not in (value or ""), (tag, attributes)

    def handle_data(self, data):
        self.words += data


def structure(form, text):
    """What a report is made of, without its words."""
    if form == "html":
        return Tags(text.decode()).seen
    if form == "junit":
        return [(each.tag, sorted(each.attrib)) for each in xml.etree.ElementTree.fromstring(text).iter()]
    if form == "github":
        lines = text.decode().splitlines()
        # A runner takes "::" at the start of a line, behind blanks too, and "##[" anywhere in any other line.
        commands = [line for line in lines if line.strip().startswith("::") or "##[" in line]
        assert all(line.startswith(("::error ", "::warning ", "::notice ")) for line in commands), commands
        assert len(lines) - len(commands) <= 1, lines  # the verdict
        return None
    if form == "markdown":
        done = subprocess.run(["cmark-gfm", "--unsafe", "-e", "table", "-e", "autolink", "-e", "strikethrough"],
                              input=text, capture_output=True, check=True)
        return Tags(done.stdout.decode()).seen
    return None


def test_no_markup_of_a_name_becomes_markup_of_the_report():
    """A name of two plain words that is as long stands for what should come out."""
    forms = ["html", "junit", "github"] + (["markdown"] if shutil.which("cmark-gfm") else [])
    for name in MARKUP:
        plain = bytes(c if chr(c).isalnum() else ord("y") for c in name)
        good = rendered("check", wheel(plain, WORK / "markup-1-py3-none-any.whl"), "-v")
        bad = rendered("check", wheel(name, WORK / "markup-1-py3-none-any.whl"), "-v")
        for form in forms:
            theirs, ours = structure(form, bad[form]), structure(form, good[form])
            if form in ("html", "markdown"):  # a name's own faults are more rows, of no other kind
                theirs, ours = sorted(set(theirs)), sorted(set(ours) | ALWAYS_ALLOWED)
                assert set(theirs) <= set(ours), (name, form, set(theirs) - set(ours))
            elif form == "junit":
                assert {tag for tag, _ in theirs} <= {tag for tag, _ in ours} | JUNIT, (name, form, theirs)
        if b"<" in name and b"\n" not in name:
            shown = Tags(bad["html"].decode()).words
            assert name.decode().replace("\\", "\\\\") in shown, (name, shown[:500])


# What another finding of the same report may bring along.
ALWAYS_ALLOWED = {("code", ()), ("p", ()), ("pre", ()), ("details", ()), ("summary", ()), ("li", ()), ("ul", ()),
                  ("strong", ()), ("span", ("class",))}
JUNIT = {"testsuites", "testsuite", "testcase", "failure", "error", "skipped", "system-out", "properties", "property"}

if not shutil.which("cmark-gfm"):
    print("SKIPPED: e2e_names: what Markdown means to a reader: no cmark-gfm (Debian package)")
main(globals())
