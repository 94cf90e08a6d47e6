#!/usr/bin/env python3
"""Load plans and bindings of what is installed: ours against LD_DEBUG's.

host.py DUMP_PLAN DLOPEN_ONLY [--libraries N] [--programs N] [--env PREFIX] [--modules N]

Shared libraries are opened by DLOPEN_ONLY, extension modules of an environment by its own Python, each in a
process of its own with RTLD_NOW; programs are started in the loader's trace mode, which relocates and runs
nothing. N: how many of them, spread over all; all without a number. Compared: the objects in the order of the
link map, how each was found, the scope, every binding (importer, symbol, version, provider), and why a load
fails. Where the two answers differ, the loader is right.
"""
import argparse
import collections
import json
import os
import re
import stat
import struct
import subprocess
import sys

import ld_debug
from ld_debug import LOADER, LOADERS_OWN, same_name

OPEN_BY_PYTHON = "import sys, _ctypes; _ctypes.dlopen(sys.argv[1], 2)"  # RTLD_NOW | RTLD_LOCAL


class Count:
    def __init__(self):
        self.files = collections.Counter()
        self.bindings = 0
        self.failing = 0
        self.differences = []


def elf_interpreter(path):
    """None when `path` is no ELF file of this machine with a dynamic section, else its PT_INTERP or ""."""
    try:
        with open(path, "rb") as file:
            head = file.read(64)
            if len(head) < 64 or head[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<H", head, 18)[0] != 62:
                return None
            offset, = struct.unpack_from("<Q", head, 32)
            size, count = struct.unpack_from("<HH", head, 54)
            file.seek(offset)
            table = file.read(size * count)
            interpreter, dynamic = "", False
            for i in range(count):
                kind, _, begin, _, _, length = struct.unpack_from("<IIQQQQ", table, i * size)
                dynamic = dynamic or kind == 2
                if kind == 3:
                    file.seek(begin)
                    interpreter = file.read(length).rstrip(b"\0").decode()
            return interpreter if dynamic else None
    except (OSError, struct.error):
        return None


def spread(paths, wanted):
    if wanted is None or wanted >= len(paths):
        return paths
    return [paths[i * len(paths) // wanted] for i in range(wanted)]


def shared_libraries(folders):
    found = {}
    for top in folders:
        for folder, _, names in os.walk(top):
            for name in sorted(names):
                path = os.path.join(folder, name)
                if ".so" in name and os.path.isfile(path) and elf_interpreter(path) is not None:
                    found.setdefault(os.path.realpath(path), path)
    return sorted(found.values())


def programs(folders):
    found = {}
    for folder in folders:
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name)
            mode = os.stat(path).st_mode if os.path.exists(path) else 0
            plain = stat.S_ISREG(mode) and not mode & (stat.S_ISUID | stat.S_ISGID)
            if plain and os.path.basename(elf_interpreter(path) or "") == LOADER:
                found.setdefault(os.path.realpath(path), os.path.realpath(path))
    return sorted(found.values())


def ours(dump_plan, options, files):
    """One answer per file, in order; with a program's start first when there is one."""
    child = subprocess.Popen([dump_plan, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    child.stdin.write("".join(path + "\n" for path in files))
    child.stdin.close()
    for line in child.stdout:
        yield json.loads(line)
    if child.wait():
        raise SystemExit(f"dump_plan {options}: exit {child.returncode}")


def same_objects(theirs, ours):
    """LD_DEBUG names a folder by the first path that it stood on: a default folder on an RPATH stays one, and one on
    an RPATH and then on a RUNPATH is the RPATH's."""
    if len(theirs) != len(ours):
        return False
    stood_on = {}
    for (path, how), (own_path, own_how) in zip(theirs, ours):
        names = stood_on.setdefault(os.path.dirname(path), {"system search path"})
        if path != own_path:
            return False
        if how != own_how and not (how in names and own_how in ("RPATH", "RUNPATH", "LD_LIBRARY_PATH")):
            return False
        names.add(how)
    return True


def differences(real, plan):
    """What of a dlopen, or of a start, is not as we say."""
    names = [same_name(path) for path, _, _ in plan["objects"]]
    load = plan["load"]
    fresh = [(name, how) for name, (_, how, by) in zip(names, plan["objects"])
             if by == load and how not in ("absent", "interpreter") and name != LOADER]
    objects = [each for each in real.objects if each[0] != LOADER]
    out = []
    if real.error is None and not same_objects(objects, fresh):
        out.append(("objects", objects, fresh))
    if real.error is not None and not same_objects(objects, fresh[:len(objects)]):
        out.append(("objects up to the failure", objects, fresh))
    scope = [names[index] for index in plan["scope"]]
    if real.scope and real.scope != scope:
        out.append(("scope", real.scope, scope))
    importers = {names[i] for i, (_, _, by) in enumerate(plan["objects"]) if by == load} - {LOADER}
    theirs = {each for each in real.bindings if each[0] in importers}
    own = {(names[a], symbol, version, names[b]) for a, symbol, version, b in plan["bindings"]
           if names[a] in importers}
    more, less = theirs - own, own - theirs
    if load == 0:
        more = {each for each in more if each[1] not in LOADERS_OWN}
    if more:
        out.append(("bindings of the loader's alone", sorted(more)[:6], len(more)))
    if less and real.error is None:
        out.append(("bindings of ours alone", sorted(less)[:6], len(less)))
    out += failure_differences(real, plan)
    return out, len(theirs & own)


def failure_differences(real, plan):
    missing = {symbol for _, symbol, _, outcome in plan["unbound"] if outcome == "missing"}
    absent = {name for name, how, _ in plan["objects"] if how == "absent"}
    wanted = {version for _, _, version, _ in plan.get("mismatches", [])}
    reasons = " ".join(reason for _, reason in plan.get("refusals", []))
    unreadable = plan.get("unreadable", [])
    we_fail = bool(missing or absent or wanted or reasons or unreadable)
    if real.error is None:
        return [("we say that it fails", sorted(missing)[:5], sorted(absent), sorted(wanted), reasons,
                 unreadable)] if we_fail else []
    known = missing | absent | wanted | {reason for _, reason in plan.get("refusals", [])} | set(unreadable)
    # What an assertion says, without the line of the source file that it stands on.
    told = any(each and each.split("Assertion")[-1] in real.error for each in known)
    return [] if told else [("the loader fails", real.error, sorted(missing)[:5], sorted(absent), reasons,
                             unreadable)]


def note(count, kind, path, found):
    found, same = found
    count.files[kind] += 1
    count.bindings += same
    for each in found:
        count.differences.append((path, each))
        print(f"{path}: {each[0]}:", *each[1:], flush=True)


def compare_opened(count, kind, dump_plan, options, files, command):
    """`command`: the process that opens a path; the last answer of ours stands for its start."""
    answers = ours(dump_plan, options, files)
    start = next(answers)
    lines, _, _ = ld_debug.run([*command, "/nonexistent"])
    note(count, "starts", command[0], differences(ld_debug.start_of(lines), start))
    for path, plan in zip(files, answers):
        lines, printed, complaint = ld_debug.run([*command, path])
        real = ld_debug.opening_of(lines, path)
        if real is None:
            count.differences.append((path, "not opened"))
            print(f"{path}: the process did not come to it", flush=True)
            continue
        if not real.ended:
            real.error = ld_debug.error_of(printed, complaint)
        count.failing += real.error is not None
        note(count, kind, path, differences(real, plan))


def compare_programs(count, dump_plan, files):
    trace = {"LD_TRACE_LOADED_OBJECTS": "1", "LD_WARN": "yes"}
    for plan in ours(dump_plan, ["--start"], files):
        path = plan["file"]
        lines, printed, _ = ld_debug.run([path], trace)
        real = ld_debug.start_of(lines)
        lost = re.search(r"(\S+) => not found|undefined symbol: (\S+)|version .(\S+). not found", printed)
        real.error = lost and lost.group(0)
        note(count, "programs", path, differences(real, plan))


def compare_modules(count, dump_plan, prefix, wanted):
    program = os.path.realpath(os.path.join(prefix, "bin/python3"))
    command = [program, "-I", "-S", "-c", OPEN_BY_PYTHON]
    first = subprocess.run([program, "-I", "-S", "-c", "import _ctypes; print(getattr(_ctypes, '__file__', ''))"],
                           capture_output=True, text=True).stdout.strip()
    ask = "import site; print(*site.getsitepackages())"
    folders = subprocess.run([os.path.join(prefix, "bin/python3"), "-c", ask], capture_output=True,
                             text=True).stdout.split()
    files = spread(shared_libraries(folders), wanted)
    options = ["--env", prefix] + (["--first", "l:" + first] if first else [])
    compare_opened(count, "modules", dump_plan, options, files, command)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dump_plan")
    parser.add_argument("dlopen_only")
    for name in ("libraries", "programs", "modules"):
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--env")
    options = parser.parse_args()
    count = Count()
    if options.libraries != 0:
        files = spread(shared_libraries(["/usr/lib", "/usr/local/lib"]), options.libraries)
        child = os.path.realpath(options.dlopen_only)
        compare_opened(count, "libraries", options.dump_plan, ["--program", child], files, [child])
    if options.programs != 0:
        compare_programs(count, options.dump_plan, spread(programs(["/usr/bin", "/usr/sbin"]), options.programs))
    if options.env:
        compare_modules(count, options.dump_plan, options.env, options.modules)
    print(", ".join(f"{number} {kind}" for kind, number in count.files.items()),
          f"({count.failing} fail to load); {count.bindings} bindings alike; {len(count.differences)} differences")
    return 1 if count.differences or not count.files else 0


if __name__ == "__main__":
    sys.exit(main())
