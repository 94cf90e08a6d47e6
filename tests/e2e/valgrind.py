#!/usr/bin/env python3
"""memcheck finds nothing in the main jobs: a check with faults, a matrix on threads, a report explained, a broken
archive. valgrind.py WHEELVET: linked to the system's glibc."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import support

FOUND = 99  # memcheck's exit code, apart from ours


def skip(reason):
    print(f"SKIPPED: {os.environ['WHEELVET_TEST']}: {reason}")
    sys.exit(77)


def jobs(folder):
    matrix = pathlib.Path(folder) / "matrix.toml"
    matrix.write_text(f"targets = [{support.stub('sgl_kernel')!r}, {support.stub('torch-2.9.1')!r}]\n"
                      "providers = ['torch==2.9.1', 'torch==2.10.0']\n")
    cut = pathlib.Path(folder) / "cut-1-py3-none-any.whl"
    cut.write_bytes(pathlib.Path(support.stub("sgl_kernel")).read_bytes()[:-40])
    return {
        "check": (1, ["check", support.stub("sgl_kernel"), "--with", support.stub("torch-2.10.0"), "--jobs", "4"]),
        "matrix": (1, ["matrix", matrix, "--no-cache", "--jobs", "4"]),
        "explain": (0, ["explain", "ImportError: common_ops.abi3.so: undefined symbol: "
                                   "_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_ib"]),
        "a cut archive": (3, ["check", cut]),
    }


def main():
    if not shutil.which("valgrind"):
        skip("valgrind is not installed")
    program = sys.argv[1]
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "log"
        for name, (expected, arguments) in jobs(folder).items():
            code = subprocess.run(["valgrind", "-q", f"--error-exitcode={FOUND}", f"--log-file={log}",
                                   program, *map(str, arguments)],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode
            print(f"{name}: exit code {code}")
            if code != expected:
                wrong += 1
                print(log.read_text()[:20000])
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
