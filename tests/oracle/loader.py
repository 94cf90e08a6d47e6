#!/usr/bin/env python3
"""Load plans and missing names of the scenes in tests/scenes.cmake: ours against the real loader's.

loader.py DLOPEN_CHILD, with WHEELVET and WHEELVET_ELF_FIXTURES in the environment. Each root of each scene is
opened by a child process with the flags that Python uses; where the two answers differ, the loader is right.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

FIXTURES = os.path.join(os.environ["WHEELVET_ELF_FIXTURES"], "scenes")
CHILD = sys.argv[1]
failures = []


def fail(scene, *what):
    failures.append(scene)
    print(f"{scene}:", *what)


def ask_loader(*opens):
    """What the loader did: (error or None, names of new objects in order, their paths)."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("LD_")}
    done = subprocess.run([CHILD, *opens], capture_output=True, text=True, env={**env, "LD_DEBUG": "files"})
    maps = re.findall(r"file=(\S+) \[0\];  generating link map", done.stderr)
    first = next((i for i, name in enumerate(maps) if name == opens[0][2:]), len(maps))
    if done.returncode not in (0, 1):
        return f"died of signal {-done.returncode}: {done.stderr[-200:]}", maps[first:], []
    error = next((line[6:] for line in done.stdout.splitlines() if line.startswith("error ")), None)
    paths = [line[7:] for line in done.stdout.splitlines() if line.startswith("loaded ")]
    start = next((i for i, path in enumerate(paths) if path == opens[0][2:]), len(paths))
    return error, maps[first:], paths[start:]


def ask_wheelvet(folder):
    done = subprocess.run([os.environ["WHEELVET"], "check", folder, "--format", "json", "--plans"],
                          capture_output=True, text=True)
    if done.returncode not in (0, 1, 3):
        raise SystemExit(f"wheelvet check {folder}: exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def compare_failure(scene, error, findings, problems):
    """The loader names one reason; ours must be among all that we name."""
    text = json.dumps(findings)
    ids = {finding["id"] for finding in findings if finding["severity"] == "error"}
    if match := re.search(r"undefined symbol: (\w+)", error):
        names = {symbol["symbol"] for finding in findings for symbol in finding["symbols"]}
        if match.group(1) not in names:
            fail(scene, "the loader misses", match.group(1), "but we name", names)
    elif match := re.search(r"^(\S+): cannot open shared object file", error):
        if "LIB-001" not in ids or match.group(1) not in text:
            fail(scene, "the loader cannot open", match.group(1), "but we say", ids)
    elif match := re.search(r"version [`'](\S+)' not found", error):
        if "VER-001" not in ids or match.group(1) not in text:
            fail(scene, "the loader wants version", match.group(1), "but we say", ids)
    elif "file too short" in error:
        if not problems and "FILE-002" not in ids:
            fail(scene, "the loader says", error, "but we read it")
    elif re.search(r"invalid ELF header|not a dynamic|ELF file", error):
        if not ids & {"FILE-002"}:
            fail(scene, "the loader says", error, "but we say", ids)
    else:
        fail(scene, "an error that this test does not know:", error)


def compare_scene(scene, folder):
    report = ask_wheelvet(folder)
    plans = {plan["root"]: plan for plan in report["load_plans"]}
    if not report["roots"]:
        fail(scene, "no roots")
    for root in report["roots"]:
        path = os.path.join(folder, root["path"])
        error, names, paths = ask_loader("l:" + path)
        if (error is None) != (root["status"] == "loads"):
            fail(scene, root["path"], "we say", root["status"], "- the loader says", error or "loads")
            continue
        findings = [finding for finding in report["findings"] if root["path"] in finding["roots"]]
        if error:
            compare_failure(scene, error, findings, report["problems"])
        # What every process holds (the interpreter, libm, libc, the loader) comes first.
        objects = plans[root["path"]]["objects"][4:]
        planned = [each["name"] for each in objects]
        if not error:
            real = [os.path.relpath(os.path.normpath(each), folder) for each in paths]
            if planned != real:
                fail(scene, "planned", planned, "but the loader has", real)
        else:
            # Up to where it gave up; what is not there never gets a link map.
            mapped = [os.path.basename(name) for name in names]
            present = [os.path.basename(each["name"]) for each in objects if each["found"] != "absent"]
            if present[:len(mapped)] != mapped:
                fail(scene, "planned", present, "but the loader mapped", mapped)


def text_on_the_path(folder):
    with open(os.path.join(folder, "lib/libb2.so"), "w") as file:
        file.write("/* GNU ld script */ INPUT(libb2.so.1)\n" * 4)


def empty_on_the_path(folder):
    open(os.path.join(folder, "lib/libb2.so"), "w").close()


def other_class_on_the_path(folder):
    change_byte(os.path.join(folder, "lib/libb2.so"), 4, 1)


def other_machine_on_the_path(folder):
    change_byte(os.path.join(folder, "lib/libb2.so"), 18, 243)


def big_endian_on_the_path(folder):
    change_byte(os.path.join(folder, "lib/libb2.so"), 5, 2)


def cut_off_on_the_path(folder):
    os.truncate(os.path.join(folder, "lib/libb2.so"), 40)


def linked_root(folder):
    """$ORIGIN is the folder of the link, where there is no lib/."""
    os.mkdir(os.path.join(folder, "real"))
    os.rename(os.path.join(folder, "libroot.so"), os.path.join(folder, "real/libroot.so"))
    os.mkdir(os.path.join(folder, "links"))
    os.symlink("../real/libroot.so", os.path.join(folder, "links/libroot.so"))


def linked_root_with_neighbours(folder):
    """$ORIGIN is the folder of the link, and there is the lib/ that the real file lacks."""
    os.mkdir(os.path.join(folder, "real"))
    os.rename(os.path.join(folder, "libroot.so"), os.path.join(folder, "real/libroot.so"))
    os.symlink("real/libroot.so", os.path.join(folder, "libroot.so"))


def change_byte(path, at, value):
    with open(path, "r+b") as file:
        file.seek(at)
        file.write(bytes([value]))


CHANGED = [
    ("breadth_first", text_on_the_path), ("breadth_first", empty_on_the_path),
    ("breadth_first", other_class_on_the_path), ("breadth_first", other_machine_on_the_path),
    ("breadth_first", big_endian_on_the_path), ("breadth_first", cut_off_on_the_path),
    ("rpath_grandchild", linked_root), ("rpath_grandchild", linked_root_with_neighbours),
]


def main():
    scenes = sorted(os.listdir(FIXTURES))
    for scene in scenes:
        if scene != "global_or_local":
            compare_scene(scene, os.path.realpath(os.path.join(FIXTURES, scene)))
    with tempfile.TemporaryDirectory() as work:
        for scene, change in CHANGED:
            folder = os.path.join(os.path.realpath(work), change.__name__)
            shutil.copytree(os.path.join(FIXTURES, scene), folder)
            change(folder)
            compare_scene(f"{scene} with {change.__name__}", folder)
    # What the unit tests of the binder claim of RTLD_LOCAL and RTLD_GLOBAL.
    pair = [os.path.join(FIXTURES, "global_or_local", name) for name in ("libprovider.so", "libuser.so")]
    for modes, loads in (("ll", False), ("gl", True)):
        error, _, _ = ask_loader(*(f"{mode}:{path}" for mode, path in zip(modes, pair)))
        if (error is None) != loads:
            fail("global_or_local", modes, "the loader says", error or "loads")
    print(f"{len(scenes)} scenes and {len(CHANGED)} changed ones, {len(failures)} differences")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
