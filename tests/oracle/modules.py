#!/usr/bin/env python3
"""Every extension module of an environment made for it: modules.py DUMP_PLAN DLOPEN_ONLY

Installs the packages of environment.txt into a venv of the Python that runs this (about 2 GB, removed at the end)
and lets host.py compare.
"""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    dump_plan, dlopen_only = sys.argv[1:]
    with tempfile.TemporaryDirectory() as work:
        prefix = os.path.join(os.path.realpath(work), "venv")
        subprocess.run([sys.executable, "-m", "venv", prefix], check=True)
        done = subprocess.run([os.path.join(prefix, "bin/pip"), "install", "--quiet", "--only-binary", ":all:", "-r",
                               os.path.join(HERE, "environment.txt")], capture_output=True, text=True)
        if done.returncode:
            print(f"SKIPPED: oracle_modules: network: {done.stderr.strip().splitlines()[-1:]}")
            return 77
        return subprocess.run([sys.executable, os.path.join(HERE, "host.py"), dump_plan, dlopen_only,
                               "--libraries", "0", "--programs", "0", "--env", prefix]).returncode


if __name__ == "__main__":
    sys.exit(main())
