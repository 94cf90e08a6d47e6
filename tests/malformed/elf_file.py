"""A small shared object that ld.so loads, written byte by byte: every field has a name and can be replaced.

Two segments, so that addresses and offsets differ; imports with and without a version, definitions, both hash
tables, versions needed and defined, relocations of each kind that names symbols.
"""
import struct

PAGE = 0x1000
DATA_AT, DATA_ADDRESS = 0x1000, 0x2000  # the second segment, where the tables before it leave room
X86_64, AARCH64 = 62, 183
# name -> size, in file order (gABI)
HEADER = (("e_ident.magic", 4), ("e_ident.class", 1), ("e_ident.data", 1), ("e_ident.version", 1), ("e_ident.osabi", 1),
          ("e_ident.abiversion", 1), ("e_ident.pad", 7), ("e_type", 2), ("e_machine", 2), ("e_version", 4),
          ("e_entry", 8), ("e_phoff", 8), ("e_shoff", 8), ("e_flags", 4), ("e_ehsize", 2), ("e_phentsize", 2),
          ("e_phnum", 2), ("e_shentsize", 2), ("e_shnum", 2), ("e_shstrndx", 2))
SEGMENT = (("p_type", 4), ("p_flags", 4), ("p_offset", 8), ("p_vaddr", 8), ("p_paddr", 8), ("p_filesz", 8),
           ("p_memsz", 8), ("p_align", 8))
SYMBOL = (("st_name", 4), ("st_info", 1), ("st_other", 1), ("st_shndx", 2), ("st_value", 8), ("st_size", 8))
RELA = (("r_offset", 8), ("r_type", 4), ("r_sym", 4), ("r_addend", 8))
VERNEED = (("vn_version", 2), ("vn_cnt", 2), ("vn_file", 4), ("vn_aux", 4), ("vn_next", 4))
VERNAUX = (("vna_hash", 4), ("vna_flags", 2), ("vna_other", 2), ("vna_name", 4), ("vna_next", 4))
VERDEF = (("vd_version", 2), ("vd_flags", 2), ("vd_ndx", 2), ("vd_cnt", 2), ("vd_hash", 4), ("vd_aux", 4),
          ("vd_next", 4))
VERDAUX = (("vda_name", 4), ("vda_next", 4))
DT = dict(NULL=0, NEEDED=1, PLTRELSZ=2, PLTGOT=3, HASH=4, STRTAB=5, SYMTAB=6, RELA=7, RELASZ=8, RELAENT=9, STRSZ=10,
          SYMENT=11, SONAME=14, RPATH=15, REL=17, RELSZ=18, RELENT=19, PLTREL=20, TEXTREL=22, JMPREL=23, RUNPATH=29,
          FLAGS=30, RELRSZ=35, RELR=36, RELRENT=37, GNU_HASH=0x6FFFFEF5, VERSYM=0x6FFFFFF0, RELACOUNT=0x6FFFFFF9, FLAGS_1=0x6FFFFFFB,
          VERDEF=0x6FFFFFFC, VERDEFNUM=0x6FFFFFFD, VERNEED=0x6FFFFFFE, VERNEEDNUM=0x6FFFFFFF,
          AUXILIARY=0x7FFFFFFD, FILTER=0x7FFFFFFF)
FUNC, OBJECT, WEAK, GLOBAL = 2, 1, 2, 1


def sysv_hash(name):
    value = 0
    for byte in name:
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ (high >> 24)) & ~high
    return value & 0xFFFFFFFF


def gnu_hash(name):
    value = 5381
    for byte in name:
        value = value * 33 + byte & 0xFFFFFFFF
    return value


class Symbol:
    """`version`: None, or the name of a version; of an import with the file that it is wanted of."""

    def __init__(self, name, defined=True, version=None, of=None, kind=FUNC, binding=GLOBAL):
        self.name, self.defined, self.version, self.of = name, defined, version, of
        self.info = binding << 4 | kind


class File:
    """The bytes and where each field lies in them."""

    def __init__(self):
        self.bytes = bytearray()
        self.fields = {}
        self.tables = {}  # name -> address

    def put(self, at, names, values, prefix=""):
        for (name, size), value in zip(names, values, strict=True):
            self.fields[prefix + name] = (at, size)
            self.write(at, size, value)
            at += size
        return at

    def write(self, at, size, value):
        if len(self.bytes) < at + size:
            self.bytes.extend(bytes(at + size - len(self.bytes)))
        self.bytes[at:at + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")

    def set(self, field, value):
        self.write(*self.fields[field], value)

    def get(self, field):
        at, size = self.fields[field]
        return int.from_bytes(self.bytes[at:at + size], "little")


def strings_of(texts):
    out, offsets = bytearray(1), {b"": 0}
    for text in texts:
        if text not in offsets:
            offsets[text] = len(out)
            out += text + b"\0"
    return bytes(out), offsets


def encoded(text):
    return text if isinstance(text, bytes) else text.encode()


def library(soname="libcase.so", needed=(), symbols=(), defines=(), runpath="$ORIGIN", extra=(), machine=X86_64,
            buckets=1, sysv_buckets=1, sysv=True, gnu=True, before_end=()):
    """`symbols`: imports and definitions; `defines`: names of versions; `extra`, `before_end`: (tag, value) of more
    dynamic entries, before and behind the usual ones; a value of str or bytes is a string."""
    file = File()
    data_at, data = DATA_AT, DATA_ADDRESS
    imports = [each for each in symbols if not each.defined]
    # DT_GNU_HASH holds what is defined, sorted by bucket.
    exports = sorted((each for each in symbols if each.defined),
                     key=lambda each: gnu_hash(encoded(each.name)) % buckets)
    table = imports + exports
    needs = {}
    for each in imports:
        if each.version:
            needs.setdefault(each.of, []).append(each.version)
    needs = {of: sorted(set(versions)) for of, versions in needs.items()}
    texts = [encoded(soname), encoded(runpath or b""), *map(encoded, needed), *(encoded(each.name) for each in table)]
    texts += [encoded(text) for of in needs for text in (of, *needs[of])] + list(map(encoded, defines))
    texts += [encoded(value) for _, value in (*extra, *before_end) if isinstance(value, (str, bytes))]
    strings, offsets = strings_of(texts)
    index = {}
    at = align(0x40 + 56 * 7)

    def place(name, size):
        nonlocal at
        file.tables[name] = at
        at = align(at + size)
        return file.tables[name]

    start = place("strings", len(strings))
    file.write(start, len(strings), int.from_bytes(strings, "little"))
    file.fields["strings"] = (start, len(strings))
    number = 2
    if defines:
        start = place("verdef", 28 * (len(defines) + 1))
        for i, name in enumerate([encoded(soname), *map(encoded, defines)]):
            last = i == len(defines)
            own = number - 1 + i
            index[(None, name)] = own
            file.put(start, VERDEF, (1, 1 if i == 0 else 0, own, 1, sysv_hash(name), 20, 0 if last else 28),
                     f"verdef{i}.")
            file.put(start + 20, VERDAUX, (offsets[name], 0), f"verdef{i}.")
            start += 28
        number += len(defines)
    if needs:
        start = place("verneed", sum(16 + 16 * len(versions) for versions in needs.values()))
        for i, (of, versions) in enumerate(needs.items()):
            size = 16 + 16 * len(versions)
            file.put(start, VERNEED, (1, len(versions), offsets[encoded(of)], 16, 0 if i + 1 == len(needs) else size),
                     f"verneed{i}.")
            for j, name in enumerate(map(encoded, versions)):
                index[(of, name)] = number
                file.put(start + 16 + 16 * j, VERNAUX, (sysv_hash(name), 0, number, offsets[name],
                                                        0 if j + 1 == len(versions) else 16), f"verneed{i}.{j}.")
                number += 1
            start += size
    place("symbols", 24 * (len(table) + 1))
    room = at + 60 * (len(table) + 1) + 4 * (buckets + sysv_buckets) + 24 * len(imports) + 0x100
    if room > data_at:
        data_at = align(room, PAGE)
        data = data_at + PAGE
    file.put(file.tables["symbols"], SYMBOL, (0,) * 6, "symbol0.")
    for i, each in enumerate(table, 1):
        file.put(file.tables["symbols"] + 24 * i, SYMBOL, (offsets[encoded(each.name)], each.info, 0,
                                                           1 if each.defined else 0,
                                                           data + 0x40 if each.defined else 0, 8), f"symbol{i}.")
    place("versym", 2 * (len(table) + 1))
    for i, each in enumerate([None, *table]):
        own = 0 if i == 0 else 1
        if each and each.version:
            own = index[(None if each.defined else each.of, encoded(each.version))]
        file.put(file.tables["versym"] + 2 * i, ((f"versym{i}", 2),), (own,))
    hashes = [gnu_hash(encoded(each.name)) for each in exports]
    first = len(imports) + 1
    start = place("gnu_hash", 16 + 8 + 4 * buckets + 4 * len(exports))
    starts = [0] * buckets
    for i, value in reversed(list(enumerate(hashes))):
        starts[value % buckets] = first + i
    chain = [value & ~1 | (i + 1 == len(hashes) or hashes[i + 1] % buckets != value % buckets)
             for i, value in enumerate(hashes)]
    end = file.put(start, (("nbuckets", 4), ("symoffset", 4), ("bloom_size", 4), ("bloom_shift", 4), ("bloom0", 8)),
                   (buckets, first, 1, 6, (1 << 64) - 1), "gnu.")
    end = file.put(end, [(f"bucket{i}", 4) for i in range(buckets)], starts, "gnu.")
    file.put(end, [(f"chain{i}", 4) for i in range(len(chain))], chain, "gnu.")
    start = place("hash", 4 * (2 + sysv_buckets + len(table) + 1))
    heads, links = [0] * sysv_buckets, [0] * (len(table) + 1)
    for i, each in reversed(list(enumerate(table, 1))):
        bucket = sysv_hash(encoded(each.name)) % sysv_buckets
        links[i], heads[bucket] = heads[bucket], i
    end = file.put(start, [("nbucket", 4), ("nchain", 4)] + [(f"bucket{i}", 4) for i in range(sysv_buckets)],
                   [sysv_buckets, len(table) + 1] + heads, "sysv.")
    file.put(end, [(f"chain{i}", 4) for i in range(len(links))], links, "sysv.")
    # R_X86_64_RELATIVE 8, GLOB_DAT 6, 64 1, JUMP_SLOT 7; of aarch64 1027, 1025, 257, 1026
    relative, address, slot = (8, 1, 7) if machine == X86_64 else (1027, 257, 1026)
    count = len(table)
    start = place("rela", 24 * (count + 1))
    file.put(start, RELA, (data + 0x300, relative, 0, data), "rela0.")
    for i in range(1, count + 1):
        file.put(start + 24 * i, RELA, (data + 0x300 + 8 * (i % 16), address, i, 0), f"rela{i}.")
    start = place("jmprel", 24 * len(imports))
    for i in range(len(imports)):
        file.put(start + 24 * i, RELA, (data + 0x380 + 8 * (i % 16), slot, i + 1, 0), f"jmprel{i}.")
    note = place("note", 32)
    file.put(note, (("n_namesz", 4), ("n_descsz", 4), ("n_type", 4), ("n_name", 4), ("n_desc", 8)),
             (4, 8, 3, int.from_bytes(b"GNU\0", "little"), 0x0123456789ABCDEF), "note.")
    text_end = at
    if text_end > data_at:
        raise ValueError("the tables do not fit before the data")
    file.bytes.extend(bytes(data_at - len(file.bytes)))
    # The data: a word that symbols stand for, what relocations write to, the dynamic section.
    file.bytes.extend(bytes(0x400))
    entries = [(DT["NEEDED"], offsets[encoded(name)]) for name in needed]
    entries += [(DT["SONAME"], offsets[encoded(soname)])]
    entries += [(DT["RUNPATH"], offsets[encoded(runpath)])] if runpath is not None else []
    entries += [(tag, offsets[encoded(value)] if isinstance(value, (str, bytes)) else value) for tag, value in extra]
    entries += [(DT["STRTAB"], file.tables["strings"]), (DT["STRSZ"], len(strings)),
                (DT["SYMTAB"], file.tables["symbols"]), (DT["SYMENT"], 24)]
    entries += [(DT["GNU_HASH"], file.tables["gnu_hash"])] if gnu else []
    entries += [(DT["HASH"], file.tables["hash"])] if sysv else []
    entries += [(DT["RELA"], file.tables["rela"]), (DT["RELASZ"], 24 * (count + 1)), (DT["RELAENT"], 24), (DT["RELACOUNT"], 1)]
    if imports:
        entries += [(DT["JMPREL"], file.tables["jmprel"]), (DT["PLTRELSZ"], 24 * len(imports)), (DT["PLTREL"], 7),
                    (DT["PLTGOT"], data + 0x200)]
    if defines or needs:
        entries += [(DT["VERSYM"], file.tables["versym"])]
    if defines:
        entries += [(DT["VERDEF"], file.tables["verdef"]), (DT["VERDEFNUM"], len(defines) + 1)]
    if needs:
        entries += [(DT["VERNEED"], file.tables["verneed"]), (DT["VERNEEDNUM"], len(needs))]
    entries += [(tag, offsets[encoded(value)] if isinstance(value, (str, bytes)) else value)
                for tag, value in before_end]
    entries += [(0, 0)]
    names = {value: name for name, value in DT.items()}
    for i, (tag, value) in enumerate(entries):
        name = names.get(tag, hex(tag))
        prefix = f"DT_{name}." if f"DT_{name}.d_tag" not in file.fields else f"DT_{name}.{i}."
        file.put(data_at + 0x400 + 16 * i, (("d_tag", 8), ("d_val", 8)), (tag, value), prefix)
    size = 0x400 + 16 * len(entries)
    segments = [(1, 6, 0, 0, 0, text_end, text_end, PAGE),
                (1, 6, data_at, data, data, size, size + 0x800, PAGE),
                (2, 6, data_at + 0x400, data + 0x400, 0, 16 * len(entries), 16 * len(entries), 8),
                (0x6474E551, 6, 0, 0, 0, 0, 0, 16),
                (4, 4, note, note, note, 24, 24, 4),
                (7, 4, data_at + 0x48, data + 0x48, data + 0x48, 8, 16, 8),
                (0x6474E552, 4, data_at, data, data, PAGE, PAGE, 1)]
    for segment, name in zip(segments, ("text", "data", "dynamic", "stack", "note", "tls", "relro")):
        file.put(0x40 + 56 * segments.index(segment), SEGMENT, segment, f"{name}.")
    file.put(0, HEADER, (0x464C457F, 2, 1, 1, 0, 0, 0, 3, machine, 1, 0, 0x40, 0, 0, 64, 56, len(segments), 64, 0, 0))
    return file


def align(value, to=8):
    return (value + to - 1) // to * to


def provider(**changes):
    """What the imports of `case` are bound to."""
    return library("libprov.so", symbols=[Symbol("give", version="V1"), Symbol("take", version="V2"),
                                          Symbol("plain", kind=OBJECT)], defines=("V1", "V2"), **changes)


def case(**changes):
    """A library that imports from `provider` and exports names of its own."""
    symbols = [Symbol("give", False, "V1", "libprov.so"), Symbol("take", False, "V2", "libprov.so"),
               Symbol("plain", False, kind=OBJECT), Symbol("maybe", False, binding=WEAK),
               Symbol("own", version="MINE"), Symbol("other", version="MINE2", kind=OBJECT), Symbol("bare")]
    given = dict(needed=["libprov.so"], symbols=symbols, defines=("MINE", "MINE2"))
    return library(**{**given, **changes})
