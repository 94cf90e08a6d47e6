"""Archives, good and bad, written byte by byte: each breaks the rule of its row in the table and no other.
What is called unambiguous, Python's zipfile, unzip and bsdtar extract to the same bytes."""

import copy
import dataclasses
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import zipfile
import zlib

from support import main, report, skip

WORK = pathlib.Path(tempfile.mkdtemp())
TEXT = b"Some text that deflates, deflates, deflates, deflates and deflates.\n"
UTF8, DESCRIPTOR = 0x800, 8
MARK = 0xFFFFFFFF


def deflated(data):
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


@dataclasses.dataclass
class Header:
    """The fields of a local or central header (APPNOTE.TXT 4.3.7, 4.3.12) as they will be written."""
    name: bytes
    method: int = 8
    flags: int = 0
    crc: int = 0
    packed: int = 0
    size: int = 0
    extra: bytes = b""
    attributes: int = 0o100644 << 16
    offset: int = None
    disk: int = 0


class Entry:
    def __init__(self, name, data=TEXT, method=8):
        name = name.encode() if isinstance(name, str) else name
        self.data = deflated(data) if method == 8 else data
        self.local = Header(name, method, 0 if name.isascii() else UTF8, zlib.crc32(data), len(self.data), len(data))
        self.central = copy.copy(self.local)
        self.descriptor = b""
        self.listed = True

    def both(self, **fields):
        for header in (self.local, self.central):
            for field, value in fields.items():
                setattr(header, field, value)
        return self

    def only(self, side, **fields):
        for field, value in fields.items():
            setattr(getattr(self, side), field, value)
        return self

    def streamed(self, signed=True, wide=False):
        """As a writer does that cannot seek: sizes and CRC behind the data."""
        sizes = struct.pack("<QQ" if wide else "<II", self.local.packed, self.local.size)
        self.descriptor = (b"PK\x07\x08" if signed else b"") + struct.pack("<I", self.local.crc) + sizes
        self.both(flags=self.local.flags | DESCRIPTOR).only("local", crc=0, packed=0, size=0)
        return self


def field(kind, content):
    return struct.pack("<HH", kind, len(content)) + content


def zip64(*values):
    return field(1, struct.pack(f"<{len(values)}Q", *values))


def unicode_path(of, to):
    return field(0x7075, b"\x01" + struct.pack("<I", zlib.crc32(of)) + to)


def head(header, at=None):
    central = at is not None
    out = struct.pack("<I", 0x02014B50 if central else 0x04034B50)
    out += struct.pack("<H", 3 << 8 | 20) if central else b""
    out += struct.pack("<HHHIIIIHH", 20, header.flags, header.method, 0x00210000, header.crc, header.packed,
                       header.size, len(header.name), len(header.extra))
    if central:
        where = at if header.offset is None else header.offset
        out += struct.pack("<HHHII", 0, header.disk, 0, header.attributes, where)
    return out + header.name + header.extra


def archive(entries, before=b"", between=b"", after=b"", before_end=b"", behind=b"", comment=b"", wide=False, **lies):
    """The bytes. `lies` replace fields of the end record: count, here, size, offset, disk; with a leading
    "wide_" those of the zip64 end record."""
    out, offsets = before, []
    for entry in entries:
        offsets.append(len(out))
        out += head(entry.local) + entry.data + entry.descriptor + between
    out += after
    start = len(out)
    for entry, at in zip(entries, offsets):
        out += head(entry.central, at) if entry.listed else b""
    count = sum(entry.listed for entry in entries)
    end = dict(count=count, here=count, size=len(out) - start, offset=start, disk=0)
    out += before_end
    if wide:
        full = {**end, **{name[5:]: value for name, value in lies.items() if name.startswith("wide_")}}
        at = len(out)
        out += struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, full["here"], full["count"], full["size"],
                           full["offset"])
        out += struct.pack("<IIQI", 0x07064B50, 0, at, 1)
        end.update(count=0xFFFF, here=0xFFFF, size=MARK, offset=MARK)
    end.update({name: value for name, value in lies.items() if not name.startswith("wide_")})
    out += struct.pack("<IHHHHIIH", 0x06054B50, end["disk"], 0, end["here"], end["count"], end["size"],
                       end["offset"], len(comment))
    return out + comment + behind


def pair():
    return [Entry("a/one.txt"), Entry("a/two.txt", TEXT * 2, 0)]


def with_first(change, **options):
    entries = pair()
    change(entries[0])
    return archive(entries, **options)


def plus(*more, **options):
    return archive(pair() + list(more), **options)


def forced_zip64(entry):
    """As ZipFile.open(force_zip64=True) writes it: marks and an extra field locally, plain values centrally."""
    return entry.only("local", extra=zip64(entry.local.size, entry.local.packed), size=MARK, packed=MARK)


def central_zip64(entry):
    return entry.only("central", extra=zip64(entry.local.size, entry.local.packed), size=MARK, packed=MARK)


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


def test_a_bomb_is_judged_before_it_is_inflated():
    path = WORK / "archive.zip"
    path.write_bytes(archive([Entry("a/lib.so", bytes(200_000_000))]))
    code, parsed = report(path, "--hash", "--stats")
    assert code == 1 and parsed["stats"]["bytes_read"] < 64 << 20, parsed["stats"]


for program in EXTRACTORS:
    if not shutil.which(program):
        skip(f"no {program}")
main(globals())
