"""The torch wheels on the index, and what is read of each."""

import email.parser
import gzip
import json
import os
import re
import tempfile

import fetch_source
from history_parts import elf_tables
from history_parts.ranged_wheel import Wheel

FIRST = (2, 1, 0)       # older releases are not asked about any more
PYTHON = "cp311"        # the only tag that every release since FIRST has
MACHINES = ("x86_64", "aarch64")
NAME = re.compile(r"torch-(\d+(?:\.\d+)+)(?:-(\d+))?-(\w+)-\w+-(\w+)\.whl")
LIBRARY = re.compile(r"(torch/lib|torch\.libs)/[^/]+\.so[^/]*|torch/_C\.[^/]+\.so")


def numbers(version):
    return tuple(int(part) for part in version.split("."))


def offered(web, settings):
    """(version, machine, file name, address) of the newest build of every release and machine, most useful first."""
    index = settings.get("index-url") or fetch_source.default_index()
    best = {}
    for name, address in fetch_source.links_of_page(web, index.rstrip("/") + "/torch/"):
        match = NAME.fullmatch(name)
        machine = match and next((m for m in MACHINES if match[4].endswith("linux_" + m) or
                                  re.search(rf"manylinux\w*_{m}$", match[4])), None)
        if not machine or match[3] != PYTHON or numbers(match[1]) < FIRST:
            continue
        build = int(match[2] or 0)  # a rebuild of a release; pip takes the highest
        key = (match[1], machine)
        best[key] = max(best.get(key, (-1,)), (build, name, address))
    wheels = [(version, machine, name, address) for (version, machine), (_, name, address) in best.items()]
    newest = {}
    for version, *_ in wheels:
        newest[numbers(version)[:2]] = max(newest.get(numbers(version)[:2], ()), numbers(version))
    return sorted(wheels, key=lambda w: (MACHINES.index(w[1]), newest[numbers(w[0])[:2]] != numbers(w[0]),
                                         [-n for n in numbers(w[0])]))


def library_tables(wheel, member, folder):
    handle, path = tempfile.mkstemp(dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            for block in wheel.stream(member):
                file.write(block)
        return elf_tables.read_tables(path)
    finally:
        os.unlink(path)


def read_wheel(web, address, folder):
    """Everything the table is made of: a plain structure that JSON can hold."""
    wheel = fetch_source.attempt(lambda: Wheel(web, address))
    metadata = next((name for name in wheel.members if re.fullmatch(r"torch-[^/]+\.dist-info/METADATA", name)), "METADATA")
    header = email.parser.BytesParser().parsebytes(wheel.bytes(metadata), headersonly=True)
    assigned = dict(re.findall(r"^(\w+)(?:\s*:[^=]+)?\s*=\s*['\"]([^'\"]*)['\"]", wheel.bytes("torch/version.py").decode(), re.M))
    libraries = {}
    for member in wheel.members.values():
        if LIBRARY.fullmatch(member.name):
            libraries[member.name] = fetch_source.attempt(lambda: library_tables(wheel, member, folder))
            libraries[member.name]["size"] = member.size
    return {
        "version": header["Version"],
        "label": assigned.get("__version__", ""),
        "cuda": assigned.get("cuda", ""),
        "requires_python": header["Requires-Python"] or "",
        "requires": header.get_all("Requires-Dist") or [],
        "libraries": libraries,
    }


def cached(cache, name):
    return cache / (name + ".json.gz")


def load(path):
    return json.loads(gzip.decompress(path.read_bytes()))


def keep(path, read):
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(gzip.compress(json.dumps(read).encode(), 6, mtime=0))
    os.replace(name, path)
