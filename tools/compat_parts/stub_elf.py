"""Shared objects that hold nothing but what the loader reads of a provider: names, needs, paths, versions."""

import struct

PAGE = 0x1000
MACHINES = {"x86_64": 62, "aarch64": 183}
DT = {"needed": 1, "hash": 4, "strtab": 5, "symtab": 6, "strsz": 10, "syment": 11, "soname": 14, "rpath": 15,
      "runpath": 29, "verneed": 0x6ffffffe, "verneednum": 0x6fffffff, "versym": 0x6ffffff0}


def elf_hash(name):
    value = 0
    for byte in name:
        value = ((value << 4) + byte) & 0xffffffff
        high = value & 0xf0000000
        value = (value ^ high >> 24) & ~high & 0xffffffff
    return value


def elf_hashes(names):
    """Hashes of sorted names: what a name shares with the one before is not hashed again."""
    states, before, out = [0], b"", []
    for name in names:
        name = name.encode()
        shared, most = 0, min(len(name), len(before))
        while shared + 16 <= most and name[shared:shared + 16] == before[shared:shared + 16]:
            shared += 16
        del states[shared + 1:]
        value = states[shared]
        for byte in name[shared:]:
            value = ((value << 4) + byte) & 0xffffffff
            high = value & 0xf0000000
            if high:
                value ^= high | high >> 24
            states.append(value)
        before = name
        out.append(value)
    return out


class Strings:
    def __init__(self):
        self.data = bytearray(b"\0")
        self.known = {"": 0}

    def __call__(self, text):
        if text not in self.known:
            self.known[text] = len(self.data)
            self.data += text.encode() + b"\0"
        return self.known[text]


def sysv_hash_table(names):
    buckets = max(1, len(names))
    heads, chain = [0] * buckets, [0] * (len(names) + 1)
    for i, value in enumerate(elf_hashes(names), 1):
        at = value % buckets
        chain[i], heads[at] = heads[at], i
    return struct.pack(f"<{2 + buckets + len(chain)}I", buckets, len(chain), *heads, *chain)


def version_needs(needs, strings):
    out, index = bytearray(), 2
    for at, (file, versions) in enumerate(needs):
        last_file = at + 1 == len(needs)
        out += struct.pack("<HHIII", 1, len(versions), strings(file), 16, 0 if last_file else 16 + 16 * len(versions))
        for number, name in enumerate(versions, 1):
            out += struct.pack("<IHHII", elf_hash(name.encode()), 0, index, strings(name),
                               0 if number == len(versions) else 16)
            index += 1
    return bytes(out)


def shared_object(library):
    """`library`: names, soname, needed, rpath, runpath, versions, machine, as tools/history keeps them."""
    strings = Strings()
    names = sorted(library["names"])
    symbols = bytearray(24)
    for name in names:  # global functions of some section
        symbols += struct.pack("<IBBHQQ", strings(name), 0x12, 0, 1, PAGE, 0)
    needs = version_needs(sorted(library["versions"].items()), strings)
    dynamic = [(DT["needed"], strings(name)) for name in library["needed"]]
    for field, tag in (("soname", "soname"), ("rpath", "rpath"), ("runpath", "runpath")):
        value = library[field]
        value = ":".join(value) if isinstance(value, list) else value
        if value:
            dynamic.append((DT[tag], strings(value)))
    tables = [("hash", sysv_hash_table(names)), ("symtab", bytes(symbols)), ("strtab", bytes(strings.data))]
    if needs:
        tables += [("versym", struct.pack(f"<{len(names) + 1}H", 0, *([1] * len(names)))), ("verneed", needs)]
    body, offset = bytearray(), PAGE
    for table, data in tables:
        body += bytes(-len(body) % 8)
        dynamic.append((DT[table], offset + len(body)))
        body += data
    dynamic += [(DT["strsz"], len(strings.data)), (DT["syment"], 24)]
    if needs:
        dynamic.append((DT["verneednum"], len(library["versions"])))
    body += bytes(-len(body) % 8)
    dynamic_at = offset + len(body)
    body += b"".join(struct.pack("<QQ", *entry) for entry in dynamic + [(0, 0)])
    size = offset + len(body)
    headers = [(1, 5, 0, 0, 0, size, size, PAGE), (2, 6, dynamic_at, dynamic_at, dynamic_at, 16 * (len(dynamic) + 1),
               16 * (len(dynamic) + 1), 8), (0x6474e551, 6, 0, 0, 0, 0, 0, 16)]
    head = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, MACHINES[library["machine"]], 1, 0, 64, 0, 0, 64,
                                                    56, len(headers), 64, 0, 0)
    head += b"".join(struct.pack("<IIQQQQQQ", *header) for header in headers)
    return head + bytes(PAGE - len(head)) + bytes(body)
