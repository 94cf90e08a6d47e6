"""Compares the table with a whole wheel on disk, whose names binutils' nm reads."""

import struct
import subprocess
import tempfile
import zipfile
import zlib

from history_parts import pack, wheels


def unpacked(data, directory, at, base=0):
    """What the four numbers at `at` in `directory` point to."""
    offset, packed, size, crc = struct.unpack_from("<4L", directory, at)
    plain = zlib.decompress(data[base + offset:base + offset + packed], -15)
    if len(plain) != size or zlib.crc32(plain) != crc:
        raise pack.PackError("the table is damaged")
    return plain


def read_varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def read_patterns(data, count, builds):
    patterns, at = [], 0
    for _ in range(count):
        pairs, at = read_varint(data, at)
        pattern = []
        for _ in range(pairs):
            library, at = read_varint(data, at)
            end = at + (builds + 7) // 8
            pattern.append((library, int.from_bytes(data[at:end], "little")))
            at = end
        patterns.append(pattern)
    return patterns


def read_block(plain, count):
    """(name, pattern number) of every name."""
    length_bytes, pattern_bytes = struct.unpack_from("<2L", plain)
    lengths, numbers, rest = 8, 8 + length_bytes, 8 + length_bytes + pattern_bytes
    name = b""
    for _ in range(count):
        same, lengths = read_varint(plain, lengths)
        more, lengths = read_varint(plain, lengths)
        number, numbers = read_varint(plain, numbers)
        name = name[:same] + plain[rest:rest + more]
        rest += more
        yield name.decode("utf-8", "surrogateescape"), number


def table_names(data, version, machine):
    """Library path -> names, of one build of the table."""
    _, builds, pattern_count, _ = struct.unpack_from("<4L", data, 8)
    head = unpacked(data, data, 24).decode().splitlines()
    libraries = [line.split(" ", 1)[1] for line in head if line.startswith("library ")]
    build = [line for line in head if line.startswith("build ")].index(f"build {version} {machine}")
    patterns = read_patterns(unpacked(data, data, 40), pattern_count, builds)
    index = unpacked(data, data, 56)
    base = sum(struct.unpack_from("<2L", data, 72))
    names, at = {library: set() for library in libraries}, 0
    while at < len(index):
        for name, number in read_block(unpacked(data, index, at, base), struct.unpack_from("<L", index, at + 16)[0]):
            for library, bits in patterns[number]:
                if bits >> build & 1:
                    names[libraries[library]].add(name)
        length, at = read_varint(index, at + 20)
        at += length
    return names


def names_by_nm(archive, member):
    with tempfile.NamedTemporaryFile(prefix="wheelvet-history-") as file:
        with archive.open(member) as source:
            while part := source.read(1 << 20):
                file.write(part)
        file.flush()
        lines = subprocess.run(["nm", "-D", "--defined-only", file.name], check=True, capture_output=True, text=True,
                               errors="surrogateescape").stdout.splitlines()
    words = [line.split() for line in lines]
    return {word[-1].partition("@")[0] for word in words if not (word[-2].islower() and word[-2] not in "uvwi")}


def check(table, wheel):
    """Prints a line per library; returns how many names differ."""
    name = wheels.NAME.fullmatch(wheel.name)
    machine = next(machine for machine in wheels.MACHINES if name[4].endswith(machine))
    held = table_names(table.read_bytes(), name[1], machine)
    differing = 0
    with zipfile.ZipFile(wheel) as archive:
        for member in filter(wheels.LIBRARY.fullmatch, archive.namelist()):
            real = set(filter(pack.covered, names_by_nm(archive, member)))
            there = held.get(member, set())
            differing += len(real ^ there)
            print(f"{wheel.name}: {member}: {len(real & there)} names agree, {len(real - there)} only in the wheel, "
                  f"{len(there - real)} only in the table", flush=True)
            for each in sorted(real ^ there)[:5]:
                print(f"    {each}")
    return differing
