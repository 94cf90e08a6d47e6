#!/usr/bin/env python3
"""ELF files that yaml2obj makes, each with one thing wrong: facts or a Problem, never a crash.

malformed.py DUMP_FACTS
"""
import os
import shutil
import subprocess
import sys
import tempfile

YAML2OBJ = next((found for name in ("yaml2obj-19", "yaml2obj") if (found := shutil.which(name))), None)

# One PT_LOAD over everything, at address 0, so that addresses are offsets. .dynstr: "\0one.so\0two.so\0f\0".
FILE = """--- !ELF
FileHeader:
  Class: ELFCLASS64
  Data: ELFDATA2LSB
  Type: ET_DYN
  Machine: EM_X86_64
{header}
ProgramHeaders:
  - Type: PT_LOAD
    Flags: [ PF_R, PF_W ]
    VAddr: 0x0
    Offset: 0x0
    FileSize: {load_size}
    MemSize: {load_size}
    FirstSec: .dynstr
    LastSec: .dynamic
  - Type: PT_DYNAMIC
    VAddr: {dynamic_address}
    FirstSec: .dynamic
    LastSec: .dynamic
{segments}
Sections:
  - Name: .dynstr
    Type: SHT_PROGBITS
    Flags: [ SHF_ALLOC ]
    Address: 0x400
    Offset: 0x400
    Content: 006f6e652e736f0074776f2e736f006600
  - Name: .table
    Type: SHT_PROGBITS
    Flags: [ SHF_ALLOC ]
    Address: 0x500
    Offset: 0x500
    Content: "{table}"
  - Name: .symbols
    Type: SHT_PROGBITS
    Flags: [ SHF_ALLOC ]
    Address: 0x600
    Offset: 0x600
    Content: "{symbols}"
  - Name: .more
    Type: SHT_PROGBITS
    Flags: [ SHF_ALLOC ]
    Address: 0x700
    Offset: 0x700
    Content: "{more}"
  - Name: .dynamic
    Type: SHT_DYNAMIC
    Flags: [ SHF_ALLOC ]
    Address: 0x800
    Offset: 0x800
    Entries:
{entries}
"""


def words(*values, size=4):
    return b"".join((value & (1 << 8 * size) - 1).to_bytes(size, "little") for value in values).hex()


def symbol(name, section=1, value=0x1000, info=0x12):
    return words(name) + words(info, 0, size=1) + words(section, size=2) + words(value, 0, size=8)


NONE = symbol(0, 0, 0, 0)
F = symbol(15)


def entries(*pairs):
    return "\n".join(f"      - Tag: {tag}\n        Value: {value}" for tag, value in pairs)


STRINGS = (("DT_STRTAB", 0x400), ("DT_STRSZ", 0x11))
SYMBOLS = STRINGS + (("DT_SYMTAB", 0x600), ("DT_SYMENT", 24))
END = (("DT_NULL", 0),)


def case(name, expected, *pairs, table="", symbols=NONE + F, more="", segments="", header="",
         dynamic_address="0x800", load_size=None, tags=STRINGS, end=END):
    # The dynamic section is the last thing in the segment.
    load_size = load_size or hex(0x800 + 16 * len((*tags, *pairs, *end)))
    text = FILE.format(entries=entries(*tags, *pairs, *end), table=table or "00", symbols=symbols, more=more or "00",
                       segments=segments, header=header, dynamic_address=dynamic_address, load_size=load_size)
    return name, expected, text


GNU = ("DT_GNU_HASH", 0x500)
SYSV = ("DT_HASH", 0x500)
# buckets, first symbol, filter words, shift; filter; bucket; chain
GOOD_GNU = words(1, 1, 1, 6) + "ff" * 8 + words(1) + words(1)
HUGE = 0xFFFFFFFF


def verneed(version=1, count=1, file=1, aux=16, following=0):
    return words(version, count, size=2) + words(file, aux, following)


def vernaux(name=8, other=2, following=0):
    return words(0x1234) + words(0, other, size=2) + words(name, following)


def verdef(version=1, index=2, aux=20, following=0):
    return words(version, 0, index, 1, size=2) + words(0x1234, aux, following)


CASES = [
    case("a plain file", "needed one.so", ("DT_NEEDED", 1)),
    case("a GNU hash", "symbol 1 1000", GNU, tags=SYMBOLS, table=GOOD_GNU),
    case("a SysV hash", "symbol 1 1000", SYSV, tags=SYMBOLS, table=words(1, 2, 1, 0, 0)),
    case("no symbols where no table counts them", "needed one.so", ("DT_NEEDED", 1), tags=SYMBOLS),
    case("no DT_NULL", "problem dynamic section", ("DT_NEEDED", 1), end=()),
    case("a name behind the strings", "problem DT_NEEDED", ("DT_NEEDED", 0x12)),
    case("a name far behind the strings", "problem DT_NEEDED", ("DT_NEEDED", "0xffffffffffffffff")),
    case("a huge DT_STRSZ", "problem DT_STRTAB", ("DT_STRSZ", "0xffffffffffffffff")),
    case("a DT_STRSZ a little over the segment", "problem DT_STRTAB", ("DT_STRSZ", 0x441)),
    case("DT_STRTAB outside every segment", "problem DT_STRTAB", ("DT_STRTAB", "0x100000")),
    case("the last DT_STRSZ counts", "oddity", ("DT_STRSZ", 0x11), ("DT_NEEDED", 1)),
    case("the last DT_SONAME counts", "soname two.so", ("DT_SONAME", 1), ("DT_SONAME", 8)),
    case("two needs are two needs", "needed two.so", ("DT_NEEDED", 1), ("DT_NEEDED", 8)),
    case("symbols outside every segment", "problem DT_SYMTAB", GNU, ("DT_SYMTAB", "0x9000"), tags=SYMBOLS, table=GOOD_GNU),
    case("no GNU buckets", "", GNU, tags=SYMBOLS, table=words(0, 1, 1, 6) + "ff" * 8),
    case("a filter of three words", "symbol 1 1000", GNU, tags=SYMBOLS, table=words(1, 1, 3, 6) + "ff" * 24 + words(1, 1)),
    case("no filter at all", "symbol 1 1000", GNU, tags=SYMBOLS, table=words(1, 1, 0, 6) + words(1, 1)),
    case("more filter words than bytes", "problem DT_GNU_HASH", GNU, tags=SYMBOLS, table=words(1, 1, HUGE, 6)),
    case("more GNU buckets than bytes", "problem DT_GNU_HASH", GNU, tags=SYMBOLS, table=words(HUGE, 1, 1, 6)),
    case("a GNU bucket behind the end", "problem DT_GNU_HASH", GNU, tags=SYMBOLS, table=words(1, 1, 1, 6) + "ff" * 8 + words(HUGE)),
    case("a first symbol behind the end", "problem DT_SYMTAB", GNU, tags=SYMBOLS, table=words(1, HUGE, 1, 6) + "ff" * 8 + words(0)),
    case("a GNU chain that does not end", "problem", GNU, tags=SYMBOLS, table=words(1, 1, 1, 6) + "ff" * 8 + words(1) + words(0) * 30,
         symbols=words(0) * 60, more=words(0) * 60),
    case("no SysV buckets", "symbol 1 1000", SYSV, tags=SYMBOLS, table=words(0, 2, 0, 0)),
    case("more SysV buckets than bytes", "problem DT_HASH", SYSV, tags=SYMBOLS, table=words(HUGE, 2, 1)),
    case("more SysV chains than bytes", "problem DT_", SYSV, tags=SYMBOLS, table=words(1, HUGE, 1)),
    case("more SysV chains than symbols fit", "problem DT_", SYSV, tags=SYMBOLS, table=words(1, 200, 1)),
    case("a SysV chain that goes round", "problem DT_HASH", SYSV, tags=SYMBOLS, table=words(1, 2, 1, 0, 1)),
    case("a symbol's name behind the strings", "problem st_name", SYSV, tags=SYMBOLS, table=words(1, 2, 1, 0, 0), symbols=NONE + symbol(0x400)),
    case("a table that is the string table too", "problem", ("DT_GNU_HASH", 0x400), tags=SYMBOLS),
    case("versions that fit", "wants one.so two.so 2", ("DT_VERNEED", 0x500), ("DT_VERNEEDNUM", 1), table=verneed() + vernaux()),
    case("the chain of needs goes past the end", "problem DT_VERNEED", ("DT_VERNEED", 0x500), table=verneed(following=0x4000) + vernaux()),
    case("the chain of versions goes past the end", "problem DT_VERNEED", ("DT_VERNEED", 0x500), table=verneed() + vernaux(following=0x4000)),
    case("the first version is past the end", "problem DT_VERNEED", ("DT_VERNEED", 0x500), table=verneed(aux=HUGE)),
    case("a version need of another version", "problem vn_version", ("DT_VERNEED", 0x500), table=verneed(version=2)),
    case("a need's file behind the strings", "problem vn_file", ("DT_VERNEED", 0x500), table=verneed(file=0x9999) + vernaux()),
    case("a version's name behind the strings", "problem vna_name", ("DT_VERNEED", 0x500), table=verneed() + vernaux(name=0x9999)),
    case("a count of needs that lies", "wants one.so two.so 2", ("DT_VERNEED", 0x500), ("DT_VERNEEDNUM", 1000), table=verneed(count=1000) + vernaux()),
    case("definitions that fit", "defines two.so 2", ("DT_VERDEF", 0x500), ("DT_VERDEFNUM", 1), table=verdef() + words(8, 0)),
    case("the chain of definitions goes past the end", "problem DT_VERDEF", ("DT_VERDEF", 0x500), table=verdef(following=HUGE) + words(8, 0)),
    case("a definition of another version", "problem vd_version", ("DT_VERDEF", 0x500), table=verdef(version=3) + words(8, 0)),
    case("a definition's name behind the strings", "problem vda_name", ("DT_VERDEF", 0x500), table=verdef() + words(0x9999, 0)),
    case("version indices outside the segment", "problem DT_VERSYM", SYSV, ("DT_VERSYM", 0xfff), tags=SYMBOLS, table=words(1, 2, 1, 0, 0)),
    case("relocations behind the end", "problem DT_RELA", ("DT_RELA", 0x700), ("DT_RELASZ", "0xffffffffffffffff"), tags=SYMBOLS),
    case("PLT relocations behind the end", "problem DT_JMPREL", ("DT_JMPREL", 0x700), ("DT_PLTRELSZ", "0x100000"), ("DT_PLTREL", 7), tags=SYMBOLS),
    case("a relocation of a symbol that cannot be", "problem relocation", ("DT_RELA", 0x700), ("DT_RELASZ", 24), tags=SYMBOLS,
         more=words(0x1000, HUGE << 32 | 6, 0, size=8)),
    case("a relocation counts its symbol", "symbol 1 1000", ("DT_RELA", 0x700), ("DT_RELASZ", 24), tags=SYMBOLS,
         more=words(0x700, 1 << 32 | 6, 0, size=8)),
    case("a size of relocations without their address", "needed one.so", ("DT_RELASZ", 24), ("DT_NEEDED", 1)),
    case("PT_DYNAMIC in no segment", "problem PT_DYNAMIC", ("DT_NEEDED", 1), dynamic_address="0x900000"),
    case("PT_DYNAMIC somewhere else than its offset", "problem dynamic section", ("DT_NEEDED", 1), dynamic_address="0x700", more="01" * 0xf0),
    case("an empty second PT_DYNAMIC", "needed one.so", ("DT_NEEDED", 1),
         segments="  - Type: PT_DYNAMIC\n    VAddr: 0x100\n    Offset: 0x100\n    FileSize: 0\n    MemSize: 0x100"),
    case("a note behind the end", "oddity", ("DT_NEEDED", 1),
         segments="  - Type: PT_NOTE\n    VAddr: 0x0\n    Offset: 0x0\n    FileSize: 0x100000000\n    MemSize: 0x100000000"),
    case("a segment behind the end", "problem PT_LOAD", ("DT_NEEDED", 1), load_size="0xfffffffffffffff0"),
    case("program headers behind the end", "problem e_phoff", ("DT_NEEDED", 1), header="  EPhOff: 0xfffffffffffffff0"),
    case("program headers of another size", "problem e_phentsize", ("DT_NEEDED", 1), header="  EPhEntSize: 57"),
    case("more program headers than bytes", "problem e_phoff", ("DT_NEEDED", 1), header="  EPhNum: 65535"),
    case("no program headers", "", ("DT_NEEDED", 1), header="  EPhNum: 0"),
    case("section headers that lie", "needed one.so", ("DT_NEEDED", 1), header="  EShOff: 0xffffffffffff\n  EShNum: 9999\n  EShStrNdx: 77"),
]


def main():
    if not YAML2OBJ:
        print("SKIPPED: malformed_elf: yaml2obj-19 (Debian package llvm-19) is not installed")
        return 77
    failed = 0
    with tempfile.TemporaryDirectory() as work:
        for number, (name, expected, text) in enumerate(CASES):
            path = os.path.join(work, f"{number}.so")
            made = subprocess.run([YAML2OBJ, "-o", path], input=text, capture_output=True, text=True)
            if made.returncode:
                print(f"{name}: yaml2obj: {made.stderr.strip()}")
                failed += 1
                continue
            # Nothing may be allocated from a number in the file.
            done = subprocess.run(["sh", "-c", 'ulimit -v 2000000; exec "$0" "$1"', sys.argv[1], path],
                                  capture_output=True, text=True, timeout=10)
            lines = done.stdout.splitlines()[1:]
            problem = any(line.startswith("problem") for line in lines)
            good = done.returncode == 0 and problem == expected.startswith("problem") and (
                not expected or any(line.startswith(expected) for line in lines))
            if not good:
                print(f"{name}: expected {expected!r}, exit {done.returncode}: {lines} {done.stderr[-200:]}")
                failed += 1
    print(f"{len(CASES)} files, {failed} unexpected answers")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
