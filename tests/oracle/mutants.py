#!/usr/bin/env python3
"""Libraries with a few bytes of their tables changed at random: our plan and bindings against the loader's.

mutants.py DUMP_PLAN DLOPEN_ONLY (--fixtures FOLDER | --installed) [--count N] [--seed N]... [--keep FOLDER]

--fixtures: what the tests build themselves (tests/scenes.cmake in FOLDER, tests/malformed/elf_file.py), so that two
machines with one compiler try the same files. --installed: all small libraries below /usr/lib. --count: mutants per
seed. --keep: where mutants go on which the answers differ, each with a line that says what was changed.

Each is opened by a child process of its own. What the loader loads must not be called broken, and every binding is
the same; what it refuses or dies of must not be called fine. A crash after relocation, in a constructor, is no
verdict of the loader. "left open": we could not read what the loader does not look at.
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import random
import shutil
import struct
import sys
import tempfile

import host
import ld_debug

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "malformed"))
import elf_file  # noqa: E402

# Tags whose value is the address of a table, and how much of it is changed at most.
TABLES = {4: 256, 5: 512, 6: 1024, 7: 512, 23: 512, 0x6FFFFEF5: 512, 0x6FFFFFF0: 128, 0x6FFFFFFC: 256, 0x6FFFFFFE: 256}
R_IRELATIVE = struct.pack("<I", 37)
# Scenes that we play in site-packages alone (docs/loader.md).
NOT_PLAYED = ("parent_of_missing",)
BATCH = 1000  # mutants that lie on the disk at once


def tables_of(data):
    """(offset, size) of the header, the program headers, the dynamic section and the tables that it names."""
    offset, = struct.unpack_from("<Q", data, 32)
    count, = struct.unpack_from("<H", data, 56)
    places = [(0, 64), (offset, 56 * count)]
    loads, dynamic = [], None
    for at in range(offset, offset + 56 * count, 56):
        kind, _, begin, address, _, size, _, _ = struct.unpack_from("<IIQQQQQQ", data, at)
        if kind == 1:
            loads.append((address, begin, size))
        if kind == 2:
            dynamic = begin, size
    places.append(dynamic)
    for at in range(dynamic[0], sum(dynamic), 16):
        tag, value = struct.unpack_from("<qQ", data, at)
        if tag in TABLES:
            for address, begin, size in loads:
                if address <= value < address + size:
                    places.append((begin + value - address, TABLES[tag]))
        if tag == 0:
            break
    return places


def installed():
    """Small libraries of this machine; an IFUNC runs code in the middle of a load."""
    out = []
    for path in host.shared_libraries(["/usr/lib"]):
        if 4096 <= os.path.getsize(path) < 60_000:
            data = pathlib.Path(path).read_bytes()
            if R_IRELATIVE + bytes(4) not in data:
                out.append(("", data))
    return out


def built_by_the_tests(fixtures, work):
    """(folder in `work`, bytes): what each needs lies beside it."""
    out = []
    for variant in ({}, {"sysv": False}, {"gnu": False}, {"runpath": "/nowhere:$ORIGIN"}, {"buckets": 3}):
        out.append(("written", bytes(elf_file.case(**variant).bytes)))
    os.makedirs(os.path.join(work, "written"))
    pathlib.Path(work, "written/libprov.so").write_bytes(elf_file.provider().bytes)
    for path in sorted(pathlib.Path(fixtures).rglob("*.so*")):
        folder = os.path.join("compiled", path.parent.relative_to(fixtures))
        os.makedirs(os.path.join(work, folder), exist_ok=True)
        shutil.copy(path, os.path.join(work, folder, path.name))
        if host.elf_interpreter(path) is not None and path.parent.name not in NOT_PLAYED:
            out.append((folder, path.read_bytes()))
    return out


def mutant(generator, data):
    """The bytes, and which offset was set to what."""
    data, changes = bytearray(data), []
    places = tables_of(data)
    for _ in range(generator.choice((1, 1, 1, 2, 3))):
        begin, size = generator.choice(places)
        at = begin + generator.randrange(size)
        if at < len(data):
            old = data[at]
            data[at] = generator.choice((0, 1, 255, data[at] ^ 1 << generator.randrange(8), generator.randrange(256)))
            changes.append(f"{at:#x}: {old:#x} -> {data[at]:#x}")
    return bytes(data), ", ".join(changes)


def says_that_it_fails(plan):
    missing = [each for each in plan["unbound"] if each[3] == "missing"]
    absent = [each for each in plan["objects"] if each[1] == "absent"]
    return missing or absent or plan.get("mismatches") or plan.get("refusals")


class Run:
    def __init__(self, dump_plan, child, work, keep):
        self.dump_plan, self.child, self.work, self.keep = dump_plan, os.path.realpath(child), work, keep
        self.count, self.left_open, self.wrong = collections.Counter(), collections.Counter(), []

    def judge(self, real, plan):
        """What differs, as text; counts the rest."""
        self.count[real.does] += 1
        unread = plan.get("unreadable")
        if real.does == "loads" and unread:
            self.left_open[", ".join(sorted(set(plan["unread fields"])))] += 1
        elif real.does == "loads":
            found, alike = host.differences(real.account, plan)
            self.count["bindings alike"] += alike
            return [f"{each[0]}: {each[1:]}" for each in found]
        elif not unread and not says_that_it_fails(plan):
            return [f"the loader {real.does} ({real.error}), and we say that it loads"]
        return []

    def note(self, path, found, changes):
        self.wrong += [f"{os.path.basename(path)}: {each} [{changes}]" for each in found]
        if found and self.keep:
            kept = pathlib.Path(self.keep, os.path.basename(path))
            shutil.copy(path, kept)
            kept.with_suffix(".txt").write_text("\n".join([changes, *found]) + "\n")

    def batch(self, mutants):
        """`mutants`: (path, changes) of files that are there."""
        paths = [path for path, _ in mutants]
        with concurrent.futures.ThreadPoolExecutor(min(4, os.cpu_count())) as pool:
            opened = pool.map(lambda path: ld_debug.Opened([self.child], path), paths)
            plans = host.ours(self.dump_plan, ["--program", self.child], paths)
            next(plans)  # the start of the process
            for (path, changes), real, plan in zip(mutants, opened, plans, strict=True):
                self.note(path, self.judge(real, plan), changes)

    def seed(self, seed, originals, count):
        generator = random.Random(seed)
        order = generator.sample(originals, len(originals))
        for begin in range(0, count, BATCH):
            mutants = []
            for i in range(begin, min(begin + BATCH, count)):
                folder, data = order[i % len(order)]
                path = os.path.join(self.work, folder, f"mutant{seed}_{i}.so")
                content, changes = mutant(generator, data)
                pathlib.Path(path).write_bytes(content)
                mutants.append((path, changes))
            self.batch(mutants)
            for path, _ in mutants:
                os.remove(path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dump_plan")
    parser.add_argument("dlopen_only")
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--fixtures")
    which.add_argument("--installed", action="store_true")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, action="append")
    parser.add_argument("--keep")
    options = parser.parse_args()
    work = os.path.realpath(tempfile.mkdtemp())
    try:
        originals = installed() if options.installed else built_by_the_tests(options.fixtures, work)
        run = Run(options.dump_plan, options.dlopen_only, work, options.keep)
        seeds = options.seed or [20261201]
        for seed in seeds:
            run.seed(seed, originals, options.count)
    finally:
        shutil.rmtree(work)
    print("\n".join(run.wrong[:60]))
    print(f"{options.count * len(seeds)} mutants of {len(originals)} libraries, {len(run.wrong)} differences;",
          dict(run.count), "left open though they load:", dict(run.left_open.most_common()))
    return 1 if run.wrong or not run.count["loads"] else 0


if __name__ == "__main__":
    sys.exit(main())
