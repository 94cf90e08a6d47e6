"""Archives, good and bad, written byte by byte: each breaks the rule of its row in the table and no other.
What is called unambiguous, Python's zipfile, unzip and bsdtar extract to the same bytes: the good ones, and of
archives that are changed at random (archives.py [--mutants N] [--seed N]) all that pass."""

import argparse
import copy
import os
import pathlib
import random
import shutil
import struct
import subprocess
import tempfile
import zipfile

from raw_zip import (MARK, TEXT, UTF8, Entry, archive, central_zip64, field, forced_zip64, pair, plus, unicode_path,
                     with_first, zip64)
from support import main, report, skip

WORK = pathlib.Path(tempfile.mkdtemp())
parser = argparse.ArgumentParser()
parser.add_argument("--mutants", type=int, default=150)
parser.add_argument("--seed", type=int, default=20261201)
OPTIONS = parser.parse_args()


def many_bombs():
    """200 members of half a megabyte of zeros: none is a bomb by itself."""
    return archive([Entry(f"z/{i}", bytes(500_000)) for i in range(200)])


GOOD = {
    "deflated and stored": archive(pair()),
    "no entries but one": archive([Entry("a")]),
    "empty files": plus(Entry("a/none", b"", 0), Entry("a/nothing", b"")),
    "folders": plus(Entry("b/", b"", 0).both(attributes=0o40755 << 16), Entry("b/c")),
    "descriptors": archive([Entry(f"d/{s}{w}").streamed(s, w) for s in (True, False) for w in (True, False)]),
    "zip64 in a local header": plus(forced_zip64(Entry("z/one")), forced_zip64(Entry("z/two", TEXT, 0))),
    "zip64 in the directory": plus(central_zip64(Entry("z/one")), central_zip64(Entry("z/two", TEXT, 0))),
    "a zip64 end record": archive(pair(), wide=True),
    "a comment": archive(pair(), comment=b"a comment"),
    "names in UTF-8": plus(Entry("ünïcode/東京.txt")),
    "a Unicode path that is the name": plus(
        Entry("ü").both(extra=unicode_path("ü".encode(), "ü".encode()))),
    "times in an extra field": with_first(lambda e: e.both(extra=field(0x5455, b"\x01\0\0\0\0"))),
    "names with dots and spaces": plus(Entry("a..b"), Entry("..."), Entry("a b/.c"), Entry("-x")),
    "a long name": plus(Entry("n" * 200)),
    "many members": archive([Entry(f"m/{i}", b"%d" % i) for i in range(1000)]),
}

# rule, or "Problem" for what cannot be read
BAD = {
    "a name twice": (plus(Entry("a/one.txt", b"other")), "ARC-001"),
    "another name in the local header": (with_first(lambda e: e.only("local", name=b"a/0ne.txt")), "ARC-002"),
    "another method": (with_first(lambda e: e.only("local", method=0)), "ARC-002"),
    "another CRC": (with_first(lambda e: e.only("local", crc=1)), "ARC-002"),
    "another size": (with_first(lambda e: e.only("local", size=1)), "ARC-002"),
    "another packed size": (with_first(lambda e: e.only("local", packed=1)), "ARC-002"),
    "UTF-8 in one header only": (with_first(lambda e: e.only("local", flags=UTF8)), "ARC-002"),
    "another size in zip64": (with_first(lambda e: e.only("local", extra=zip64(1, e.local.packed), size=MARK,
                                                          packed=MARK)), "ARC-002"),
    "data before": (archive(pair(), before=b"stray"), "ARC-003"),
    "data between": (archive(pair(), between=b"stray"), "ARC-003"),
    "data after the entries": (archive(pair(), after=b"stray"), "ARC-003"),
    "data before the end record": (archive(pair(), before_end=b"stray"), "ARC-003"),
    "data behind the archive": (archive(pair(), behind=b"stray"), "Problem"),
    "an archive before the archive": (archive(pair(), before=archive([Entry("hidden")])), "ARC-003"),
    "a count that is too high": (archive(pair(), count=3, here=3), "ARC-004"),
    "a count that is too low": (archive(pair(), count=1, here=1), "ARC-004"),
    "entries on other disks": (archive(pair(), here=1), "ARC-004"),
    "another disk": (archive(pair(), disk=1), "ARC-004"),
    "an entry on another disk": (with_first(lambda e: e.only("central", disk=1)), "ARC-004"),
    "a second end record in the comment": (archive(pair(), comment=archive([])), "ARC-003 ARC-004"),
    "a zip64 record of another count": (archive(pair(), wide=True, count=1, here=1), "ARC-005"),
    "a zip64 record of another offset": (archive(pair(), wide=True, offset=0), "ARC-005"),
    "a link": (with_first(lambda e: e.both(attributes=0o120777 << 16)), "ARC-007"),
    "a device": (with_first(lambda e: e.both(attributes=0o020644 << 16)), "ARC-007"),
    "names that differ in case": (plus(Entry("A/One.txt")), "ARC-008"),
    "names that differ in case beyond ASCII": (plus(Entry("grün"), Entry("GRÜN")), "ARC-008"),
    "encryption": (with_first(lambda e: e.both(flags=1)), "ARC-009"),
    "bzip2": (with_first(lambda e: e.both(method=12)), "ARC-009"),
    "LZMA": (with_first(lambda e: e.both(method=14)), "ARC-009"),
    "zstd": (with_first(lambda e: e.both(method=93)), "ARC-009"),
    "a stored size that is too large": (archive([Entry("a", TEXT, 0).both(size=1000)]), "ARC-010"),
    "a size that is too small": (archive([Entry("a").both(size=10)]), "ARC-010"),
    "a size that is too large": (archive([Entry("a").both(size=100)]), "ARC-010"),
    "a wrong CRC": (archive([Entry("a").both(crc=1)]), "ARC-011"),
    "a wrong CRC of stored data": (archive([Entry("a", TEXT, 0).both(crc=1)]), "ARC-011"),
    "a bomb": (archive([Entry("a", bytes(100_000_000))]), "ARC-013"),
    "a bomb that lies about its size": (archive([Entry("a", bytes(10_000_000)).both(size=100)]), "ARC-010"),
    "many small bombs": (many_bombs(), "ARC-013"),
    "a Unicode path that renames": (
        with_first(lambda e: e.both(extra=unicode_path(b"a/one.txt", b"a/1.txt"))), "ARC-014"),
    "a file that is a folder": (plus(Entry("a")), "ARC-015"),
    "a file and a folder entry": (plus(Entry("b"), Entry("b/", b"", 0)), "ARC-015"),
    "a folder with content": (plus(Entry("b/")), "ARC-015"),
    "a name of no known encoding": (plus(Entry(b"\xfc").both(flags=0)), "ARC-016"),
    "a name marked as UTF-8 that is none": (plus(Entry(b"\xfc").both(flags=UTF8)), "ARC-016"),
    "an extra field that is cut off": (with_first(lambda e: e.both(extra=struct.pack("<HH", 1, 99))), "ARC-017"),
    "two zip64 fields": (with_first(lambda e: e.only("local", extra=zip64(1, 2) + zip64(3, 4))), "ARC-017"),
    "a directory that is cut off": (archive(pair(), size=10), "ARC-003 ARC-004"),
    "an offset that leads nowhere": (archive(pair(), offset=0xFFFFFF), "Problem"),
    "cut off": (archive(pair())[:-30], "Problem"),
    "nothing": (b"", "Problem"),
    "no archive": (b"hello" * 100, "Problem"),
}
for name in ("/absolute", "a/../../b", "..", "./b", "a\\b", "c:/x", "a\nb", "a\x1b[2J", "a\x7f", "b//c", "b/.", ""):
    BAD[f"the name {name!r}"] = (plus(Entry(name)), "ARC-006")
for signed in (True, False):
    lying = Entry("d").streamed(signed)
    lying.descriptor = lying.descriptor[:-1] + b"\x01"
    BAD[f"a descriptor of another size, signed: {signed}"] = (plus(lying), "ARC-002")
hidden = Entry("hidden")
hidden.listed = False
BAD["an entry that only the body has"] = (archive([Entry("a"), hidden, Entry("b")]), "ARC-003")
shared = Entry("a/one.txt").only("central", name=b"a/three.txt", offset=0)
BAD["two entries with the same bytes"] = (plus(shared), "ARC-002 ARC-003 ARC-012")


def verdict(content):
    """The rules that `check --hash` says are broken, or "Problem". No such archive is a wheel, so that what is
    said of metadata and RECORD does not count."""
    path = WORK / "archive.zip"
    path.write_bytes(content)
    _, parsed = report(path, "--hash")
    rules = sorted({finding["id"] for finding in parsed["findings"] if finding["id"].startswith("ARC-")})
    return " ".join(rules) or ("Problem" if parsed["problems"] else "")


def extracted(command, path):
    """Path -> bytes of what a program extracts."""
    folder = WORK / "out"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    done = subprocess.run(command(path, folder), capture_output=True, cwd=folder,
                          env={**os.environ, "LC_ALL": "C.UTF-8"})
    assert done.returncode == 0, (command(path, folder), done.stderr, done.stdout)
    return {str(each.relative_to(folder)): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


def by_zipfile(path):
    with zipfile.ZipFile(path) as opened:
        return {info.filename: opened.read(info) for info in opened.infolist() if not info.is_dir()}


EXTRACTORS = {
    "unzip": lambda path, folder: ["unzip", "-q", path, "-d", folder],
    "bsdtar": lambda path, folder: ["bsdtar", "-xf", path, "-C", folder],
}


def test_good_archives_break_no_rule_and_everybody_extracts_the_same():
    for what, content in GOOD.items():
        assert verdict(content) == "", (what, verdict(content))
        path = WORK / "archive.zip"
        known = by_zipfile(path)
        assert known, what
        for program, command in EXTRACTORS.items():
            assert extracted(command, path) == known, (what, program)


def test_each_bad_archive_breaks_the_rule_of_its_row():
    wrong = {}
    for what, (content, rule) in BAD.items():
        found = verdict(content)
        if found != rule:
            wrong[what] = (rule, found)
    assert not wrong, wrong


NAMES = [b"a", b"A", b"a/b", b"a/", b"a/b/c.so", b"b.txt", b"x y", "\u00fc".encode(), b"\xfc", b"a\\b", b"../a", b"/a", b"a//b",
         b"./a", b"", b"a\nb", b"-a", b"a.", b"con", b"a\x00b", b"\xef\xbb\xbfa"]
NUMBERS = [0, 1, 2, 8, 20, 45, 63, 255, 256, 0x7FFF, 0xFFFF]


def random_entry(generator):
    data = generator.choice((b"", b"x", TEXT, TEXT * 20, bytes(generator.randrange(256) for _ in range(50))))
    entry = Entry(f"m/{generator.randrange(6)}", data, generator.choice((0, 8)))
    change = generator.randrange(8)
    if change == 0:
        entry.streamed(generator.random() < 0.5, generator.random() < 0.3)
    elif change == 1:
        forced_zip64(entry)
    elif change == 2:
        central_zip64(entry)
    elif change == 3:
        entry.both(extra=field(generator.choice((0x5455, 0x7875, 0xCAFE, 0x000A)), bytes(generator.randrange(9))))
    return entry


def change_entry(generator, entry):
    """One field of one header, or of both, says something else."""
    name = generator.choice(("name", "method", "flags", "crc", "packed", "size", "extra", "attributes", "offset", "disk"))
    if name == "name":
        value = generator.choice(NAMES)
    elif name == "extra":
        kind = generator.choice((1, 0x7075, 0x5455, 0x6375, 0x9901, 0x0017))
        value = field(kind, bytes(generator.randrange(256) for _ in range(generator.choice((0, 4, 5, 8, 16, 28)))))
        value = value[:generator.choice((len(value), len(value), 3))]
    elif name == "attributes":
        value = generator.getrandbits(32)
    elif name == "flags":
        value = entry.local.flags ^ 1 << generator.randrange(16)
    elif name in ("packed", "size", "crc", "offset"):
        value = generator.choice((0, 1, MARK, (getattr(entry.local, name) or 0) + generator.choice((-1, 1)), 1 << 31)) % (1 << 32)
    else:
        value = generator.choice(NUMBERS)
    for side in generator.choice((("local",), ("central",), ("local", "central"))):
        setattr(getattr(entry, side), name, value)


def mutant(generator):
    entries = [random_entry(generator) for _ in range(generator.choice((1, 2, 2, 3, 5)))]
    kinds = generator.choice((("bytes",), ("bytes",), ("entry",), ("entry",), ("entry", "bytes"), ("lies",), ("room",), ("twice",)))
    options = {"wide": generator.random() < 0.2}
    if "entry" in kinds:
        change_entry(generator, generator.choice(entries))
    if "twice" in kinds:
        entries.append(copy.deepcopy(generator.choice(entries)))
    if "lies" in kinds:
        options[generator.choice(("count", "here", "size", "offset", "disk", "wide_count", "wide_size", "wide_offset"))] = (
            generator.choice((0, 1, 2, 46, 22, 0xFFFF)))
    if "room" in kinds:
        place = generator.choice(("before", "between", "after", "before_end", "behind", "comment"))
        options[place] = generator.choice((b"x", bytes(22), b"PK\x05\x06" + bytes(18), archive([Entry("other")])))
    content = bytearray(archive(entries, **options))
    if "bytes" in kinds:
        directory = content.find(b"PK\x01\x02")
        for _ in range(generator.choice((1, 1, 2))):
            # Headers are few bytes, and what they say matters most.
            at = generator.randrange(directory, len(content)) if generator.random() < 0.7 else generator.randrange(30)
            if generator.random() < 0.8:
                content[at] = generator.choice((0, 1, 255, content[at] ^ 1 << generator.randrange(8)))
            elif generator.random() < 0.5:
                content[at:at] = b"\0"
            else:
                del content[at]
    return bytes(content)


def extracted_by_all(path):
    """program -> path -> bytes, or what went wrong."""
    out = {}
    for program, command in {"zipfile": None, **EXTRACTORS}.items():
        try:
            out[program] = extracted(command, path) if command else by_zipfile(path)
        except Exception as error:
            out[program] = str(error)
    return out


def test_archives_changed_at_random_are_ambiguous_or_extracted_alike_by_all():
    generator = random.Random(OPTIONS.seed)
    passed, wrong = 0, []
    for number in range(OPTIONS.mutants):
        content = mutant(generator)
        if verdict(content):
            continue
        passed += 1
        answers = extracted_by_all(WORK / "archive.zip")
        if any(answer != answers["zipfile"] for answer in answers.values()) or isinstance(answers["zipfile"], str):
            wrong.append((number, {program: answer if isinstance(answer, str) else sorted(answer)
                                   for program, answer in answers.items()}))
    print(f"       {OPTIONS.mutants} archives, {passed} called unambiguous, {len(wrong)} extracted in other ways")
    assert passed > OPTIONS.mutants // 20 and not wrong, wrong[:20]


def test_a_bomb_is_judged_before_it_is_inflated():
    path = WORK / "archive.zip"
    path.write_bytes(archive([Entry("a/lib.so", bytes(200_000_000))]))
    code, parsed = report(path, "--hash", "--stats")
    assert code == 1 and parsed["stats"]["bytes_read"] < 64 << 20, parsed["stats"]


for program in EXTRACTORS:
    if not shutil.which(program):
        skip(f"no {program}")
main(globals())
