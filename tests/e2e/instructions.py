#!/usr/bin/env python3
"""How many instructions our own functions take for three fixed inputs, against those kept in
tests/data/instructions.json: they do not hang on the load of the machine. A rise over 5 % fails.

    instructions.py [--write]      --write keeps what is counted now

callgrind counts; functions of libraries are left out, as inflate and libc choose their code by the processor. Another
compiler makes other code: then the test is skipped."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ["WHEELVET_SOURCE"])
PROGRAM = os.environ["WHEELVET"]
KEPT = SOURCE / "tests" / "data" / "instructions.json"
STUBS = SOURCE / "fixtures" / "stubs"
RISE = 1.05


def skip(reason):
    print(f"SKIPPED: {os.environ.get('WHEELVET_TEST', 'instructions')}: {reason}")
    sys.exit(77)


def stub(name):
    return str(next(STUBS.glob(name + "*.whl")))


def compiler():
    """As the program names it in its own bytes."""
    lines = subprocess.run(["readelf", "-p", ".comment", PROGRAM], capture_output=True, text=True, check=True).stdout
    return ", ".join(sorted(set(re.findall(r"(?:GCC|clang)[^\n]*", lines))))


def count(arguments, folder):
    out = pathlib.Path(folder) / "out"
    subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", PROGRAM, *arguments],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    names, total, own, callee = {}, 0, False, False
    for line in out.read_text().splitlines():
        if line.startswith("fn="):
            number, _, name = line[3:].partition(" ")
            if name:
                names[number] = name
            own = "wheelvet::" in names[number]
        elif line.startswith("cfn="):
            number, _, name = line[4:].partition(" ")
            if name:
                names[number] = name
        elif line.startswith("calls="):
            callee = True  # the next line is the cost of what is called
        elif line and (line[0].isdigit() or line[0] in "+-*"):
            if own and not callee:
                total += int(line.split()[1])
            callee = False
    return total


def inputs(folder):
    matrix = pathlib.Path(folder) / "matrix.toml"
    matrix.write_text(f"targets = [{stub('sgl_kernel')!r}]\n"
                      "providers = ['torch==2.8.0', 'torch==2.9.1', 'torch==2.10.0']\n")
    return {
        "check": ["check", stub("sgl_kernel"), "--with", stub("torch-2.10.0"), "--jobs", "1", "--no-config"],
        "matrix": ["matrix", str(matrix), "--no-cache", "--jobs", "1", "--no-config"],
        "explain": ["explain", "ImportError: common_ops.abi3.so: undefined symbol: "
                               "_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_ib"],
    }


def main():
    if not shutil.which("valgrind"):
        skip("valgrind is not installed")
    with tempfile.TemporaryDirectory() as folder:
        counted = {name: count(arguments, folder) for name, arguments in inputs(folder).items()}
    if "--write" in sys.argv:
        KEPT.write_text(json.dumps({"compiler": compiler(), "instructions": counted}, indent=2) + "\n")
        return 0
    kept = json.loads(KEPT.read_text())
    if kept["compiler"] != compiler():
        skip(f"the counts are of {kept['compiler']}, this is {compiler()}")
    wrong = 0
    for name, own in counted.items():
        ratio = own / kept["instructions"][name]
        too_many = own < 1000 or ratio > RISE
        wrong += too_many
        print(f"{name:8} {own:13,} of ours, {ratio:.3f} of what is kept{'  TOO MANY' if too_many else ''}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
