"""What the loader reads of one library: names, versions, needs. Sections are not looked at."""

import mmap
import struct

PT_LOAD, PT_DYNAMIC = 1, 2
DT_NEEDED, DT_STRTAB, DT_SYMTAB, DT_STRSZ, DT_SONAME, DT_RPATH, DT_RUNPATH = 1, 5, 6, 10, 14, 15, 29
DT_HASH, DT_GNU_HASH, DT_VERNEED, DT_VERNEEDNUM, DT_VERDEF = 4, 0x6FFFFEF5, 0x6FFFFFFE, 0x6FFFFFFF, 0x6FFFFFFC
MACHINES = {62: "x86_64", 183: "aarch64"}
STB_GLOBAL, STB_WEAK, STB_GNU_UNIQUE = 1, 2, 10
STV_DEFAULT, STV_PROTECTED = 0, 3


class ElfError(Exception):
    pass


def is_elf64(data):
    return data[:6] == b"\x7fELF\2\1"


class Image:
    def __init__(self, data):
        self.data = data
        if not is_elf64(data):
            raise ElfError("not a little-endian ELF64 file")
        self.machine = MACHINES.get(struct.unpack_from("<H", data, 18)[0], "other")
        offset, = struct.unpack_from("<Q", data, 32)
        entry_size, count = struct.unpack_from("<2H", data, 54)
        self.segments = [struct.unpack_from("<2L6Q", data, offset + i * entry_size) for i in range(count)]
        self.dynamic = list(self._dynamic())
        self.strings = self.at(self.one(DT_STRTAB))

    def _dynamic(self):
        for segment in self.segments:
            if segment[0] == PT_DYNAMIC:
                for at in range(segment[2], segment[2] + segment[5], 16):
                    tag, value = struct.unpack_from("<2Q", self.data, at)
                    if not tag:
                        return
                    yield tag, value

    def at(self, address):
        """The file offset of an address."""
        for kind, _, offset, start, _, size, _, _ in self.segments:
            if kind == PT_LOAD and start <= address < start + size:
                return offset + address - start
        raise ElfError(f"address {address:#x} lies in no segment")

    def all(self, tag):
        return [value for key, value in self.dynamic if key == tag]

    def one(self, tag):
        return (self.all(tag) or [None])[-1]  # the loader keeps the last of duplicates

    def text(self, offset):
        start = self.strings + offset
        return self.data[start:self.data.find(b"\0", start)].decode("utf-8", "surrogateescape")


def symbol_range(image):
    """The first and the end of the symbols that the hash table reaches: a name outside does not exist for the loader."""
    if image.one(DT_GNU_HASH) is None:
        return 1, struct.unpack_from("<2L", image.data, image.at(image.one(DT_HASH)))[1]
    table = image.at(image.one(DT_GNU_HASH))
    buckets, first, words, _ = struct.unpack_from("<4L", image.data, table)
    starts = table + 16 + 8 * words
    chains = starts + 4 * buckets
    last = max(struct.unpack_from(f"<{buckets}L", image.data, starts), default=0)
    if last < first:
        return first, first
    while not struct.unpack_from("<L", image.data, chains + 4 * (last - first))[0] & 1:
        last += 1
    return first, last + 1


def exported_names(image):
    first, end = symbol_range(image)
    table = image.at(image.one(DT_SYMTAB))
    names = set()
    for name, info, other, section, _, _ in struct.iter_unpack("<L2BH2Q", image.data[table + 24 * first:table + 24 * end]):
        binding, visibility = info >> 4, other & 3
        if section and binding in (STB_GLOBAL, STB_WEAK, STB_GNU_UNIQUE) and visibility in (STV_DEFAULT, STV_PROTECTED):
            names.add(image.text(name))
    return sorted(names)


def needed_versions(image):
    """Versions by the file that they are needed from."""
    versions = {}
    if image.one(DT_VERNEED) is None:
        return versions
    at = image.at(image.one(DT_VERNEED))
    for _ in range(image.one(DT_VERNEEDNUM)):
        _, count, file, first, following = struct.unpack_from("<2H3L", image.data, at)
        each = at + first
        for _ in range(count):
            _, _, _, name, step = struct.unpack_from("<L2H2L", image.data, each)
            versions.setdefault(image.text(file), []).append(image.text(name))
            each += step
        at += following
    return {file: sorted(names) for file, names in versions.items()}


def read_tables(path):
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        image = Image(data)
        try:
            soname = image.one(DT_SONAME)
            return {
                "machine": image.machine,
                "soname": image.text(soname) if soname is not None else "",
                "needed": [image.text(name) for name in image.all(DT_NEEDED)],
                "rpath": [image.text(name) for name in image.all(DT_RPATH)],
                "runpath": [image.text(name) for name in image.all(DT_RUNPATH)],
                "versions": needed_versions(image),
                "defines_versions": image.one(DT_VERDEF) is not None,
                "names": exported_names(image),
            }
        finally:
            image.data = None
