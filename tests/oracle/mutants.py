#!/usr/bin/env python3
"""Installed libraries with a few bytes of their tables changed at random: our plan and bindings against the loader's.

mutants.py DUMP_PLAN DLOPEN_ONLY [--count N] [--seed N]

Each is opened by a child process of its own. What the loader loads must not be called broken, and every binding is
the same; what it refuses or dies of must not be called fine. "left open": we could not read what the loader does not
look at.
"""
import argparse
import collections
import concurrent.futures
import os
import random
import shutil
import struct
import sys
import tempfile

import host
import ld_debug

# Tags whose value is the address of a table, and how much of it is changed at most.
TABLES = {4: 256, 5: 512, 6: 1024, 7: 512, 23: 512, 0x6FFFFEF5: 512, 0x6FFFFFF0: 128, 0x6FFFFFFC: 256, 0x6FFFFFFE: 256}
R_IRELATIVE = struct.pack("<I", 37)


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


def bases():
    """Small installed libraries, spread over their names; an IFUNC runs code in the middle of a load."""
    out = []
    for path in host.shared_libraries(["/usr/lib"]):
        size = os.path.getsize(path)
        if 4096 <= size < 60_000:
            with open(path, "rb") as file:
                data = file.read()
            if R_IRELATIVE + bytes(4) not in data:
                out.append(data)
    return [out[i] for i in range(0, len(out), max(1, len(out) // 40))]


def mutant(generator, data):
    data = bytearray(data)
    places = tables_of(data)
    for _ in range(generator.choice((1, 1, 1, 2, 3))):
        begin, size = generator.choice(places)
        at = begin + generator.randrange(size)
        if at < len(data):
            data[at] = generator.choice((0, 1, 255, data[at] ^ 1 << generator.randrange(8), generator.randrange(256)))
    return bytes(data)


def says_that_it_fails(plan):
    missing = [each for each in plan["unbound"] if each[3] == "missing"]
    absent = [each for each in plan["objects"] if each[1] == "absent"]
    wanted = [each for each in plan.get("mismatches", [])]
    return missing or absent or wanted or plan.get("refusals")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dump_plan")
    parser.add_argument("dlopen_only")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=20261201)
    options = parser.parse_args()
    child = os.path.realpath(options.dlopen_only)
    generator = random.Random(options.seed)
    originals = bases()
    count, wrong = collections.Counter(), []
    work = os.path.realpath(tempfile.mkdtemp())
    try:
        files = []
        for i in range(options.count):
            files.append(os.path.join(work, f"mutant{i}.so"))
            with open(files[-1], "wb") as file:
                file.write(mutant(generator, originals[i % len(originals)]))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            opened = list(pool.map(lambda path: ld_debug.Opened([child], path), files))
        plans = host.ours(options.dump_plan, ["--program", child], files)
        next(plans)  # the start of the process
        for path, real, plan in zip(files, opened, plans, strict=True):
            name = os.path.basename(path)
            count[real.does] += 1
            unread = plan.get("unreadable")
            if real.does == "loads" and unread:
                count["left open though it loads"] += 1
            elif real.does == "loads":
                found, alike = host.differences(real.account, plan)
                count["bindings alike"] += alike
                wrong += [f"{name}: {each[0]}: {each[1:]}" for each in found]
            elif not unread and not says_that_it_fails(plan):
                wrong.append(f"{name}: the loader {real.does} ({real.error}), and we say that it loads")
            if wrong and os.environ.get("MUTANTS_KEPT") and wrong[-1].startswith(name + ":"):
                shutil.copy(path, os.environ["MUTANTS_KEPT"])
    finally:
        shutil.rmtree(work)
    print("\n".join(wrong[:60]))
    print(f"{options.count} mutants of {len(originals)} libraries, {len(wrong)} differences;", dict(count))
    return 1 if wrong or not count["loads"] else 0


if __name__ == "__main__":
    sys.exit(main())
