"""Reads single members of a wheel that lies on a server, through HTTP ranges, or of one on disk."""

import struct
import urllib.parse
import urllib.request
import zlib

import fetch_source

END = struct.Struct("<4s4H2LH")           # APPNOTE 4.3.16
END64_LOCATOR = struct.Struct("<4sLQL")   # 4.3.15
END64 = struct.Struct("<4sQ2H2L4Q")       # 4.3.14
ENTRY = struct.Struct("<4s6H3L5H2L")      # 4.3.12
LOCAL = struct.Struct("<4s5H3L2H")        # 4.3.7
TAIL = 22 + 65535 + END64_LOCATOR.size + END64.size
BLOCK = 1 << 20


class WheelError(Exception):
    pass


class Member:
    def __init__(self, name, method, crc, packed, size, offset):
        self.name, self.method, self.crc, self.packed, self.size, self.offset = (
            name, method, crc, packed, size, offset)


class Wheel:
    """A wheel at an address (http, https or file); `members` by name, in the directory's order."""

    def __init__(self, web, address):
        self.web = web
        self.address = address
        self.total = self._size()
        self.members = {member.name: member for member in self._directory()}

    def _size(self):
        with self.web.open(self.address, headers={"Range": "bytes=0-0"}) as answer:
            if self.address.startswith("file:"):
                return int(answer.headers["Content-Length"])
            where = answer.headers.get("Content-Range", "")
            if answer.status != 206 or "/" not in where:
                raise WheelError("the server does not answer ranges")
            return int(where.rpartition("/")[2])

    def _open(self, first, size):
        """A stream that begins at `first`; it may hold more than `size` bytes."""
        if self.address.startswith("file:"):
            stream = open(urllib.request.url2pathname(urllib.parse.urlsplit(self.address).path), "rb")
            stream.seek(first)
            return stream
        return self.web.open(self.address, headers={"Range": f"bytes={first}-{min(first + size, self.total) - 1}"})

    def _read(self, first, size):
        with self._open(first, size) as stream:
            data = stream.read(size)
        if len(data) != size:
            raise ConnectionError(f"only {len(data)} of {size} bytes at {first}")
        return data

    def _directory(self):
        start = max(0, self.total - TAIL)
        tail = self._read(start, self.total - start)
        at = tail.rfind(b"PK\5\6")
        if at < 0:
            raise WheelError("no end of central directory")
        count, size, offset = END.unpack_from(tail, at)[4:7]
        locator = at - END64_LOCATOR.size
        if locator >= 0 and tail[locator:locator + 4] == b"PK\6\7":
            where = END64_LOCATOR.unpack_from(tail, locator)[2]
            count, size, offset = END64.unpack(self._read(where, END64.size))[7:10]
        yield from entries(self._read(offset, size), count)

    def stream(self, member):
        """The member's bytes, block by block, inflated; raises when they are not what the directory promises."""
        # The local header's extra field may be longer than the directory's: its length is only known from there.
        ahead = LOCAL.size + len(member.name.encode()) + 65535
        with self._open(member.offset, ahead + member.packed) as source:
            fields = LOCAL.unpack(source.read(LOCAL.size))
            if fields[0] != b"PK\3\4":
                raise WheelError(f"{member.name}: no local header at {member.offset}")
            source.read(fields[9] + fields[10])
            yield from inflated(source, member)

    def bytes(self, name):
        return b"".join(self.stream(self.members[name]))


def entries(directory, count):
    at = 0
    for _ in range(count):
        field = ENTRY.unpack_from(directory, at)
        if field[0] != b"PK\1\2":
            raise WheelError(f"no directory entry at {at}")
        method, crc, packed, size, offset = field[4], field[7], field[8], field[9], field[16]
        name_end = at + ENTRY.size + field[10]
        extra = directory[name_end:name_end + field[11]]
        packed, size, offset = zip64(extra, packed, size, offset)
        yield Member(directory[at + ENTRY.size:name_end].decode(), method, crc, packed, size, offset)
        at = name_end + field[11] + field[12]


def zip64(extra, packed, size, offset):
    """The sizes and the offset, from the zip64 field where the entry's own say 'too large' (APPNOTE 4.5.3)."""
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<2H", extra, at)
        if kind == 1:
            values = iter(struct.unpack_from(f"<{length // 8}Q", extra, at + 4))
            size = next(values) if size == 0xFFFFFFFF else size
            packed = next(values) if packed == 0xFFFFFFFF else packed
            offset = next(values) if offset == 0xFFFFFFFF else offset
        at += 4 + length
    return packed, size, offset


def inflated(source, member):
    engine = zlib.decompressobj(-15) if member.method == 8 else None
    left, size, crc = member.packed, 0, 0
    while left:
        packed = source.read(min(BLOCK, left))
        if not packed:
            raise ConnectionError(f"{member.name}: the connection ended {left} bytes early")
        left -= len(packed)
        block = engine.decompress(packed) if engine else packed
        if not left and engine:
            block += engine.flush()
        size += len(block)
        crc = zlib.crc32(block, crc)
        yield block
    if size != member.size or crc != member.crc:
        raise WheelError(f"{member.name}: size or checksum differ from the directory's")
