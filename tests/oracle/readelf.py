#!/usr/bin/env python3
"""Symbols, versions, needs and paths of installed libraries: ours against readelf's.

readelf.py DUMP_FACTS [--all]: without --all at most 300 libraries, chosen by a hash of their names.
"""
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys

TYPES = ["NOTYPE", "OBJECT", "FUNC", "SECTION", "FILE", "COMMON", "TLS"]
BINDINGS = ["LOCAL", "GLOBAL", "WEAK"]
VISIBILITIES = ["DEFAULT", "INTERNAL", "HIDDEN", "PROTECTED"]
SYMBOL = re.compile(
    r"\s*(\d+): ([0-9a-f]+)\s+(\S+)\s+(\S+)\s+(\S+)\s+(\S+)\s+(?:\[[^]]*\]\s+)?(\S+)(?: ([^\s]+))?(?: \(\d+\))?\s*$"
)
TAGS = {
    "needed": re.compile(r"\(NEEDED\).*?\[(.*)\]$"),
    "soname": re.compile(r"\(SONAME\).*?\[(.*)\]$"),
    "rpath": re.compile(r"\(RPATH\).*?\[(.*)\]$"),
    "runpath": re.compile(r"\(RUNPATH\).*?\[(.*)\]$"),
}
NEED_FILE = re.compile(r"Version: \d+\s+File: (\S+)\s+Cnt:")
NEED_NAME = re.compile(r"Name: (\S+)\s+Flags: (.*?)\s+Version: (\d+)")
DEFINITION = re.compile(r"Rev: \d+\s+Flags: (.*?)\s+Index: (\d+)\s+Cnt: \d+\s+Name: (\S+)")


def named(number, names, prefix):
    return names[number] if number < len(names) else prefix.get(number, str(number))


def section(number):
    return {0: "UND", 0xFFF1: "ABS", 0xFFF2: "COM"}.get(number, str(number))


def ours(program, paths):
    out = subprocess.run([program, *paths], capture_output=True, text=True, check=True).stdout
    files = {}
    for line in out.splitlines():
        word, _, rest = line.partition(" ")
        if word == "file":
            facts = files[rest] = {"symbols": [], "tags": [], "wants": [], "defines": [], "other": []}
        elif word in TAGS:
            facts["tags"].append((word, rest))
        elif word == "wants":
            facts["wants"].append(tuple(rest.split(" ")))
        elif word == "defines":
            facts["defines"].append(tuple(rest.split(" ")))
        elif word == "symbol":
            number, value, size, kind, binding, visibility, where, name = rest.split(" ", 7)
            # readelf leaves the version out where the symbol is the version node itself.
            name = re.sub(r"^(.+)@@\1$", r"\1", name)
            facts["symbols"].append((
                int(number), int(value, 16), int(size), named(int(kind), TYPES, {10: "IFUNC"}),
                named(int(binding), BINDINGS, {10: "UNIQUE"}), VISIBILITIES[int(visibility)],
                section(int(where)), name))
        else:
            facts["other"].append(line)
    return files


def theirs(paths):
    out = subprocess.run(["readelf", "-W", "--dyn-syms", "-d", "-V", *paths], capture_output=True, text=True,
                         errors="replace", env={**os.environ, "LC_ALL": "C"}).stdout
    files = {}
    facts = {"symbols": [], "tags": [], "wants": [], "defines": []}
    if len(paths) == 1:
        files[paths[0]] = facts
    for line in out.splitlines():
        if line.startswith("File: "):
            facts = files[line[6:]] = {"symbols": [], "tags": [], "wants": [], "defines": []}
            continue
        match = SYMBOL.match(line)
        if match:
            number, value, size, kind, binding, visibility, where, name = match.groups()
            if number != "0":
                facts["symbols"].append((int(number), int(value, 16), int(size, 0), kind, binding, visibility, where,
                                         name or ""))
            continue
        for tag, pattern in TAGS.items():
            match = pattern.search(line)
            if match:
                facts["tags"].append((tag, match.group(1)))
        if match := NEED_FILE.search(line):
            needed = match.group(1)
        elif match := NEED_NAME.search(line):
            weak = "weak" if "WEAK" in match.group(2) else "-"
            facts["wants"].append((needed, match.group(1), match.group(3), weak))
        elif match := DEFINITION.search(line):
            facts["defines"].append((match.group(3), match.group(2), "base" if "BASE" in match.group(1) else "-"))
    return files


def compare(path, here, there, complain):
    if here["other"]:
        complain(path, "ours says", here["other"][:3])
        return
    for part in ("wants", "defines"):
        if here[part] != there[part]:
            complain(path, part, sorted(set(here[part]) ^ set(there[part]))[:6])
    # readelf prints the dynamic section in its order; only needs may stand more than once.
    if sorted(here["tags"]) != sorted(there["tags"]):
        complain(path, "tags", sorted(set(here["tags"]) ^ set(there["tags"])))
    needs = [[value for tag, value in facts["tags"] if tag == "needed"] for facts in (here, there)]
    if needs[0] != needs[1]:
        complain(path, "order of needs", needs)
    count = len(here["symbols"])
    for mine, readelf in zip(here["symbols"], there["symbols"]):
        if mine != readelf:
            complain(path, "symbol", (mine, readelf))
            break
    if count > len(there["symbols"]):
        complain(path, "more symbols than readelf has", count)
    # The loader has no count of symbols: those behind the last one that a hash table or a relocation names
    # do not exist for it. They can only be undefined ones that nothing refers to.
    for symbol in there["symbols"][count:]:
        if symbol[6] != "UND":
            complain(path, "a defined symbol is not seen", symbol)


def main():
    if not shutil.which("readelf"):
        print("SKIPPED: oracle_readelf: no readelf")
        return 77
    paths = []
    for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"):
        for path in glob.glob(folder + "/**/*.so*", recursive=True):
            if os.path.isfile(path) and not os.path.islink(path):
                with open(path, "rb") as file:
                    if file.read(5) == b"\x7fELF\x02":
                        paths.append(path)
    paths.sort(key=lambda path: hashlib.sha256(os.path.basename(path).encode()).digest())
    if "--all" not in sys.argv:
        paths = [path for path in paths if os.path.getsize(path) < 30_000_000][:300]
    if len(paths) < 20:
        print(f"SKIPPED: oracle_readelf: only {len(paths)} libraries are installed")
        return 77
    complaints = []
    symbols = 0
    for at in range(0, len(paths), 50):
        batch = paths[at:at + 50]
        here, there = ours(sys.argv[1], batch), theirs(batch)
        for path in batch:
            compare(path, here[path], there[path], lambda *what: complaints.append(what))
            symbols += len(here[path]["symbols"])
    for what in complaints[:40]:
        print(*what)
    print(f"{len(paths)} libraries, {symbols} symbols, {len(complaints)} differences")
    return 1 if complaints or symbols < 1000 else 0


if __name__ == "__main__":
    sys.exit(main())
