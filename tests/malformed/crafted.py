#!/usr/bin/env python3
"""What the whole program says of crafted ELF files, against a table and against the real loader.

crafted.py WHEELVET DLOPEN_ONLY DUMP_PLAN [--all] [--write] [CASE...]

Every field of the tables that the loader reads is set to its extremes (elf_cases.py). verdicts.tsv holds the verdict
on each: the exit code of `check`, and the findings or the field that the Problem names. All must match. Where the
loader of this machine can be asked, it is: what it loads must not be called broken (exit 1), what it refuses or dies
of must not be called fine, and where both load, every binding is the same. Without --all every sixth case is tried.
--write makes the table anew, for a person to read.

Each answer takes at most 20 times the processor time that the unchanged file takes (0.3 s at least, so that a busy
machine is no fault) and 128 MB.
"""
import collections
import concurrent.futures
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import zlib

import elf_cases

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "oracle"))
import host  # noqa: E402
import ld_debug  # noqa: E402

TABLE = pathlib.Path(__file__).with_name("verdicts.tsv")
MEMORY = 128 << 20
LEAST_SECONDS = 0.3


class Answer:
    """What `check` said of a folder, and what it took."""

    def __init__(self, program, folder):
        child = subprocess.Popen([program, "check", folder, "--format", "json"], stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL)
        text = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        self.code = child.returncode = os.waitstatus_to_exitcode(status)
        self.seconds = usage.ru_utime + usage.ru_stime
        self.memory = usage.ru_maxrss << 10
        self.ids, self.fields, self.root = [], [], None
        if self.code in (0, 1, 3):
            report = json.loads(text)
            self.ids = sorted({finding["id"] for finding in report["findings"]})
            self.fields = sorted({problem["field"] or problem["reason"] for problem in report["problems"]})
            self.root = next((each["status"] for each in report["roots"] if each["path"] == "libcase.so"), None)

    def what(self):
        return " ".join(self.ids + [f"problem:{field}" for field in self.fields]) or "-"

    def fine(self):
        return self.code == 0 and self.root == "loads"


def written(folder, files):
    os.makedirs(folder)
    for name, content in files.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)


def read_table():
    """case -> (exit code, what)"""
    out = {}
    for line in TABLE.read_text().splitlines():
        if line and not line.startswith("#"):
            kind, field, code, what, labels = line.split("\t")
            for label in labels.split():
                out[kind, field, label] = int(code), what
    return out


def write_table(answers):
    rows = collections.OrderedDict()
    for (kind, field, label), answer in answers.items():
        rows.setdefault((kind, field, str(answer.code), answer.what()), []).append(label)
    with open(TABLE, "w") as file:
        file.write("# file, field, exit code of `check`, findings and fields of problems, values\n")
        for row, labels in rows.items():
            file.write("\t".join((*row, " ".join(labels))) + "\n")


def tried_without_all(case):
    return zlib.crc32("".join(case).encode()) % 6 == 0


def name_of(case):
    return "{}:{}={}".format(*case)


class Run:
    def __init__(self, program, child, dump_plan, work):
        self.program, self.child, self.dump_plan, self.work = program, os.path.realpath(child), dump_plan, work
        self.ask_loader = platform.machine() == "x86_64" and os.path.exists(self.child)
        self.good = self.at("good", {"libcase.so": bytes(elf_cases.BUILDERS["case"]().bytes),
                                     "libprov.so": bytes(elf_cases.BUILDERS["provider"]().bytes)})
        self.wrong = []
        self.count = collections.Counter()
        usual = Answer(program, self.good)
        if not usual.fine():
            raise SystemExit(f"the unchanged file: exit {usual.code}, {usual.what()}")
        self.seconds = max(20 * usual.seconds, LEAST_SECONDS)

    def at(self, name, files):
        folder = os.path.join(self.work, name)
        written(folder, files)
        return folder

    def try_one(self, number, case):
        folder = self.at(str(number), elf_cases.files_of(case))
        answer = Answer(self.program, folder)
        path = os.path.join(folder, "libcase.so")
        return case, folder, answer, ld_debug.Opened([self.child], path) if self.ask_loader else None

    def judge(self, case, answer, loaded):
        name = name_of(case)
        if answer.code not in (0, 1, 3):
            self.wrong.append(f"{name}: exit {answer.code}")
        if answer.seconds > self.seconds or answer.memory > MEMORY:
            self.wrong.append(f"{name}: {answer.seconds:.2f} s, {answer.memory >> 20} MB")
        if not loaded:
            return
        self.count[loaded.does] += 1
        if loaded.does == "loads" and answer.code == 1:
            self.wrong.append(f"{name}: is called broken ({answer.what()}), and the loader loads it")
        if loaded.does == "loads" and answer.code == 3:
            self.count["left open though it loads"] += 1
        if loaded.does != "loads" and answer.fine():
            self.wrong.append(f"{name}: is called fine, and the loader {loaded.does}: {loaded.error}")

    def compare_bindings(self, both):
        """`both`: (case, folder, Opened) of what loads by either's word."""
        files = [os.path.join(folder, "libcase.so") for _, folder, _ in both]
        plans = host.ours(self.dump_plan, ["--program", self.child], files)
        next(plans)  # the start of the process
        for (case, _, loaded), plan in zip(both, plans):
            found, alike = host.differences(loaded.account, plan)
            self.count["bindings alike"] += alike
            self.wrong += [f"{name_of(case)}: {each[0]}: {each[1:]}" for each in found]


def main():
    options = [each for each in sys.argv[4:] if each.startswith("--")]
    wanted = [each for each in sys.argv[4:] if not each.startswith("--")]
    cases = [case for case in elf_cases.swept() if not wanted or name_of(case) in wanted]
    if not wanted and not options:
        cases = [case for case in cases if tried_without_all(case)]
    work = tempfile.mkdtemp()
    try:
        run = Run(*sys.argv[1:4], work)
        with concurrent.futures.ThreadPoolExecutor(min(4, os.cpu_count())) as pool:
            results = list(pool.map(run.try_one, range(len(cases)), cases))
        both = []
        for case, folder, answer, loaded in results:
            run.judge(case, answer, loaded)
            if loaded and loaded.does == "loads" and answer.fine():
                both.append((case, folder, loaded))
        if both:
            run.compare_bindings(both)
        answers = {case: answer for case, _, answer, _ in results}
        if "--write" in options:
            write_table(answers)
        table = read_table()
        for case, answer in answers.items():
            if table.get(case) != (answer.code, answer.what()):
                run.wrong.append(f"{name_of(case)}: expected {table.get(case)}, got {answer.code} {answer.what()}")
    finally:
        shutil.rmtree(work)
    print("\n".join(run.wrong[:400]))
    print(f"{len(cases)} crafted files, {len(run.wrong)} unexpected answers;", dict(run.count))
    return 1 if run.wrong or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
