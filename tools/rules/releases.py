#!/usr/bin/env python3
"""Makes rules/exports/releases/<table>.txt: which release of a CUDA library exports which name.

    releases.py [TABLE...]      all tables, or those named

Reads the x86-64 wheels on the index that pip is configured for, one per minor release (the newest patch), by HTTP
ranges: of each wheel the one library, of which nothing but the names is kept. All tables: some 12 GB of download.
What was read stays in a cache (~/.cache/wheelvet/releases), so that a new release is one wheel per package.
"""
import json
import pathlib
import re
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(SOURCE / "tools"))
import fetch_source  # noqa: E402
from history_parts import elf_tables  # noqa: E402
from history_parts.ranged_wheel import Wheel, WheelError  # noqa: E402
from python_exports import encode_plain  # noqa: E402

CACHE = pathlib.Path.home() / ".cache" / "wheelvet" / "releases"
MOST_COLUMNS = 32  # of an export table

# table: packages by CUDA major, and the library in them
TABLES = {
    "cudart": (["nvidia-cuda-runtime-cu11", "nvidia-cuda-runtime-cu12", "nvidia-cuda-runtime"], r"libcudart\.so\.\d+(\.0)?"),
    "nvJitLink": (["nvidia-nvjitlink-cu12", "nvidia-nvjitlink"], r"libnvJitLink\.so\.\d+"),
    "nvrtc": (["nvidia-cuda-nvrtc-cu11", "nvidia-cuda-nvrtc-cu12", "nvidia-cuda-nvrtc"], r"libnvrtc\.so\.[\d.]+"),
    "curand": (["nvidia-curand-cu11", "nvidia-curand-cu12", "nvidia-curand"], r"libcurand\.so\.\d+"),
    "cudnn": (["nvidia-cudnn-cu11", "nvidia-cudnn-cu12", "nvidia-cudnn-cu13"], r"libcudnn\.so\.\d+"),
    "cublasLt": (["nvidia-cublas-cu11", "nvidia-cublas-cu12", "nvidia-cublas"], r"libcublasLt\.so\.\d+"),
    "cublas": (["nvidia-cublas-cu11", "nvidia-cublas-cu12", "nvidia-cublas"], r"libcublas\.so\.\d+"),
}
WHEEL = re.compile(r"[\w.]+-(\d[\d.]*)(?:-\d+)?-py3-none-.*x86_64\.whl")


def numbers(version):
    return tuple(int(part) for part in version.split("."))


def newest_patches(web, index, packages):
    """{minor release: (version, name, address)}, oldest first."""
    best = {}
    for package in packages:
        for name, address in fetch_source.links_of_page(web, f"{index}/{package}/"):
            match = WHEEL.fullmatch(name)
            if match and len(numbers(match[1])) > 1:
                minor = numbers(match[1])[:2]
                best[minor] = max(best.get(minor, ((0,),)), (numbers(match[1]), name, address))
    return dict(sorted(best.items()))


def names_of(web, name, address, library):
    kept = CACHE / f"{name}.{re.sub(r'[^A-Za-z]', '', library.split('.so')[0])}.json"
    if kept.exists():
        return json.loads(kept.read_text())
    wheel = fetch_source.attempt(lambda: Wheel(web, address))
    member = next(m for m in wheel.members.values() if re.fullmatch(library, m.name.rpartition("/")[2]))
    with tempfile.NamedTemporaryFile() as file:
        for block in wheel.stream(member):
            file.write(block)
        file.flush()
        names = sorted(elf_tables.read_tables(file.name)["names"])
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(names))
    return names


def make(web, index, table):
    packages, library = TABLES[table]
    have = {}
    for minor, (version, name, address) in newest_patches(web, index, packages).items():
        try:
            have[".".join(map(str, minor))] = set(names_of(web, name, address, library))
        except (OSError, LookupError, StopIteration, WheelError, elf_tables.ElfError) as error:
            print(f"{name}: not read: {error or type(error).__name__}", file=sys.stderr)
            continue
        print(f"{table}: {name}", flush=True)
    columns = list(have)[-MOST_COLUMNS:]
    out = SOURCE / "rules" / "exports" / "releases" / f"{table}.txt"
    out.parent.mkdir(exist_ok=True)
    with out.open("w") as file:
        file.write(f"# by release of {', '.join(packages)}; made by tools/rules/releases.py\n")
        file.write("# columns: " + " ".join(columns) + "\n")
        for name in sorted(set().union(*(have[c] for c in columns))):
            those = [c for c in columns if name in have[c]]
            file.write(name + ("" if len(those) == len(columns) else "\t" + encode_plain(those, columns)) + "\n")


def main():
    settings = fetch_source.pip_configuration()
    web = fetch_source.Web(settings)
    index = (settings.get("index-url") or fetch_source.default_index()).rstrip("/")
    for table in sys.argv[1:] or TABLES:
        make(web, index, table)


main()
