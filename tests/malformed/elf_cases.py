"""Which fields of a small library (elf_file.py) are set to what.

A case is named FILE:FIELD=VALUE. FILE is "case", which is opened and whose tables are read, or "provider", in
which the imports of the other are looked up.
"""
import re

import elf_file

# What stands for many of its kind: an import with a version and one that may stay away, a definition with a version
# and one without, the first and a usual relocation.
SWEPT = re.compile(r"e_|text\.|data\.|dynamic\.|stack\.|note\.|tls\.|DT_|symbol[01457]\.|versym[0157]$|rela[015]\.|jmprel0\.|"
                   r"verneed|verdef|gnu\.|sysv\.")
SWEPT_IN_PROVIDER = re.compile(r"symbol[01]\.|versym[01]$|verdef[01]\.|gnu\.|sysv\.|DT_\w+\.d_val$|e_type|e_machine|"
                               r"e_ident\.(class|data)|data\.p_(vaddr|filesz)")
# The numbers of relocation types are dense and each is another rule.
EVERY_TYPE = [f"{kind}" for kind in range(44)]


def values_of(name, size, file):
    """label -> value: the extremes, and places in the file for what may be an offset, an address or a size."""
    bits, length, at = 8 * size, len(file.bytes), file.fields[name][0]
    values = {"0": 0, "1": 1, "max": -1, "half": 1 << bits - 1, "half-1": (1 << bits - 1) - 1}
    if size < 4:
        values |= {"2": 2, "3": 3}
    else:
        values |= {"self": at, "end-1": length - 1, "end": length, "-8": -8, "-page": -elf_file.PAGE}
    if size == 8:
        values |= {"2^32": 1 << 32, "-self": -at}
    if name.endswith("r_type"):
        values |= {kind: int(kind) for kind in EVERY_TYPE}
    out, seen = {}, {file.get(name)}
    for label, value in values.items():
        value &= (1 << bits) - 1
        if value not in seen:
            seen.add(value)
            out[label] = value
    return out


BUILDERS = {"case": elf_file.case, "provider": elf_file.provider}


def swept():
    """(file, field, label) of every case."""
    for kind, wanted in (("case", SWEPT), ("provider", SWEPT_IN_PROVIDER)):
        base = BUILDERS[kind]()
        for name, (_, size) in base.fields.items():
            if wanted.match(name):
                for label in values_of(name, size, base):
                    yield kind, name, label


def files_of(case):
    """File name -> bytes."""
    kind, name, label = case
    out = {each: build() for each, build in BUILDERS.items()}
    changed = out[kind]
    changed.set(name, values_of(name, changed.fields[name][1], changed)[label])
    return {"libcase.so": bytes(out["case"].bytes), "libprov.so": bytes(out["provider"].bytes)}


# Files that are made to hurt, and a good one that is as large: name -> (bad, good), each file name -> bytes.

def colliding(count):
    """Names with one GNU hash: 33 * 65 + 122 == 33 * 66 + 89."""
    return ["".join("BY" if number >> bit & 1 else "Az" for bit in range(14)) for number in range(count)]


def pair(names, imports=None, provider=None, **changes):
    """A library that imports all of the names from another. `provider`: more of the other's."""
    exports = [elf_file.Symbol(name) for name in names]
    wanted = [elf_file.Symbol(name, False) for name in imports or names]
    user = elf_file.library(needed=["libprov.so"], symbols=wanted, buckets=len(names), sysv_buckets=len(names), **changes)
    other = elf_file.library("libprov.so", symbols=exports, **(provider or {}))
    return {"libcase.so": bytes(user.bytes), "libprov.so": bytes(other.bytes)}


def spread(count):
    return dict(buckets=count, sysv_buckets=count)


def one_chain(count):
    """All in one bucket, of one hash."""
    names = [f"name_{i:05}_of_some_length" for i in range(count)]
    return pair(colliding(count)), pair(names, provider=spread(count))


def one_sysv_chain(count):
    names = [f"name_{i:05}_of_some_length" for i in range(count)]
    return pair(names, provider=dict(gnu=False)), pair(names, provider=dict(spread(count), gnu=False))


def endless_chain(count):
    names = [f"name_{i:05}_of_some_length" for i in range(count)]
    absent = [name + "x" for name in names]
    bad, good = pair(names, absent, provider=dict(gnu=False)), pair(names, provider=dict(spread(count), gnu=False))
    exports = elf_file.library("libprov.so", symbols=[elf_file.Symbol(name) for name in names], gnu=False)
    exports.set(f"sysv.chain{count}", 1)
    return {**bad, "libprov.so": bytes(exports.bytes)}, good


def many_needs(count):
    names = [f"libgone{i}.so" for i in range(count)]
    bad = elf_file.library(needed=names)
    good = elf_file.library(extra=[(elf_file.DT["AUXILIARY"] ^ 0x1000, name) for name in names])
    return {"libcase.so": bytes(bad.bytes)}, {"libcase.so": bytes(good.bytes)}


def long_runpath(folders, needs):
    names = [f"libgone{i}.so" for i in range(needs)]
    bad = elf_file.library(needed=names, runpath=":".join("/x%x" % i for i in range(folders)))
    good = elf_file.library(needed=[], runpath="/" + "x" * 5 * folders)
    return {"libcase.so": bytes(bad.bytes)}, {"libcase.so": bytes(good.bytes)}


def many_versions(count):
    versions = [f"V{i}" for i in range(count)]
    wanted = [elf_file.Symbol(f"s{i}", False, version, "libprov.so") for i, version in enumerate(versions)]
    exports = [elf_file.Symbol(f"s{i}", version=version) for i, version in enumerate(versions)]
    bad = elf_file.library(needed=["libprov.so"], symbols=wanted, **spread(count))
    other = elf_file.library("libprov.so", symbols=exports, defines=versions, **spread(count))
    names = [f"s{i}_of_that_size" for i in range(count)]
    return {"libcase.so": bytes(bad.bytes), "libprov.so": bytes(other.bytes)}, pair(names, provider=spread(count))


def many_missing(count):
    """C++ names of which the other library has all neighbours."""
    wanted = [f"_ZN3foo3barEPKcS1_{'i' * 3}{'j' * (i % 50)}{'PK' * (i // 50)}c" for i in range(count)]
    exports = [f"_ZN3foo3barEPKcS1_{'l' * 3}{'m' * (i % 50)}{'PK' * (i // 50)}c" for i in range(count)]
    return pair(exports, wanted, provider=spread(count)), pair(exports, provider=spread(count))


def deep_names(count):
    """Names that grow without bound when they are made readable."""
    bombs = ["_Z1fI" + "S_" * 60 + "1a" * 20 + "E" * (i + 1) for i in range(count)]
    bombs += ["_Z" + "N1a" * 100 + "1b" + "E" * 100 + "T_" * i for i in range(count)]
    bombs += ["_Z1f" + "PK" * 2000 + "i" * (i + 1) for i in range(count)]
    bombs += ["_Z1fIJ" + "Dp" * 200 + "T_" * i + "EE" for i in range(count)]
    exports = [f"plain{i}" for i in range(len(bombs))]
    padded = [f"plain{i}" + "x" * (len(name) - 8) for i, name in enumerate(bombs)]
    return pair(exports, bombs, provider=spread(len(exports))), pair(padded, provider=spread(len(padded)))


def one_name_many_times(count):
    exports = [elf_file.Symbol("same", version=f"V{i}") for i in range(count)]
    other = elf_file.library("libprov.so", symbols=exports, defines=[f"V{i}" for i in range(count)])
    for i in range(count):
        field = f"versym{i + 1}"
        other.set(field, other.get(field) | 0x8000)
    user = elf_file.library(needed=["libprov.so"], symbols=[elf_file.Symbol("same", False, f"V{i}", "libprov.so")
                                                            for i in range(count)])
    bad = {"libcase.so": bytes(user.bytes), "libprov.so": bytes(other.bytes)}
    return bad, many_versions(count)[0]


HURTING = {
    "a chain of one hash": lambda: one_chain(6000),
    "a chain of DT_HASH with all names": lambda: one_sysv_chain(6000),
    "a chain of DT_HASH that never ends": lambda: endless_chain(6000),
    "20,000 needs that are nowhere": lambda: many_needs(20_000),
    "100,000 folders and 100 needs": lambda: long_runpath(100_000, 100),
    "10,000 versions": lambda: many_versions(10_000),
    "3,000 missing names with near ones": lambda: many_missing(3000),
    "names that grow": lambda: deep_names(200),
    "one name in 6,000 versions": lambda: one_name_many_times(6000),
}
