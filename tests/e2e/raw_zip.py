"""Zip archives written field by field (APPNOTE.TXT), so that any of them can lie."""

import copy
import dataclasses
import struct
import zlib

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
    out, offsets = bytearray(before), []
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
    return bytes(out) + comment + behind


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
