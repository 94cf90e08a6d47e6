"""The table of docs/bench.md: a job, ours, each peer that does the same or a part of it, and the floor.

All commands of a job are run in turn, so that a machine that changes its speed changes it for all; medians are shown,
and the median of the ratios to ours."""

import json
import os
import pathlib
import shlex
import shutil
import statistics
import subprocess
import time

LIMIT = 120  # seconds; a peer that takes longer is stopped and shown as such
RELEASES = ["2.1.0", "2.2.0", "2.3.0", "2.4.0", "2.5.0", "2.5.1", "2.6.0", "2.7.0", "2.7.1", "2.8.0", "2.9.0",
            "2.9.1", "2.10.0", "2.11.0", "2.12.0", "2.13.0"]


def once(command):
    """Wall seconds, processor seconds and peak RSS in MB of one run; None when it took too long."""
    shell = isinstance(command, str)
    started = time.perf_counter()
    process = subprocess.Popen(command, shell=shell, executable="/bin/bash" if shell else None, start_new_session=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while True:
        done, _, usage = os.wait4(process.pid, os.WNOHANG)
        if done:
            break
        if time.perf_counter() - started > LIMIT:
            os.killpg(process.pid, 9)
            os.wait4(process.pid, 0)
            process.returncode = -9
            return None
        time.sleep(0.0005)
    process.returncode = 0
    return time.perf_counter() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def measured(commands, runs):
    """name -> list of runs, in turn; the first of each, which fills the page cache, is not counted."""
    taken = {}
    for turn in range(runs + 1):
        for name, command in commands.items():
            if turn and taken.get(name) == [None]:
                continue
            run = once(command)
            if run is None:
                taken[name] = [None]
            elif turn:
                taken.setdefault(name, []).append(run)
    return taken


def cell(runs, ours):
    if runs == [None]:
        return f"> {LIMIT} s", "", "", ""
    wall = statistics.median(run[0] for run in runs)
    ratio = statistics.median(run[0] / own[0] for run, own in zip(runs, ours))
    return (f"{wall:.3f} s" if wall < 10 else f"{wall:.1f} s", f"{statistics.median(run[1] for run in runs):.2f} s",
            f"{max(run[2] for run in runs):.0f} MB", f"{ratio:.2f}")


def rows_of(title, commands, runs):
    """Lines of the table for one job; `commands` begins with ours. None stands for a program that is not here."""
    missing = [name for name, command in commands.items() if command is None]
    present = {name: command for name, command in commands.items() if command is not None}
    taken = measured(present, runs)
    ours = next(iter(taken.values()))
    out = []
    for name, seen in taken.items():
        wall, processor, memory, ratio = cell(seen, ours)
        out.append(f"| {title if not out else ''} | {name} | {wall} | {processor} | {memory} | {ratio} |")
        print(out[-1], flush=True)
    if missing:
        print(f"  not here: {', '.join(missing)}", flush=True)
    return out, missing


def program(name, folder):
    """A peer on the PATH or in the folder of tools of the Python index."""
    beside = folder / "bin" / name if folder else None
    return str(beside) if beside and beside.exists() else shutil.which(name)


def bytes_read(command):
    """How much ours reads, as its own statistics say; the floor is reading as much."""
    done = subprocess.run([*map(str, command), "--stats", "--format", "json"], capture_output=True, text=True)
    return json.loads(done.stdout)["stats"]["bytes_read"]


def jobs(ours, env, wheels, matrix, folder, work):
    """title -> name -> command."""
    def peer(name, *arguments):
        path = program(name, folder)
        return [path, *map(str, arguments)] if path else None

    def shell(text, *needed):
        return text if all(program(name, folder) for name in needed) else None

    (site,) = env.glob("lib/python3*/site-packages")
    libraries, flash = site / "torch" / "lib", site / "sgl_kernel" / "flash_ops.abi3.so"
    sgl = next(wheels.glob("sgl_kernel-0.3.21-*.whl"))
    llvm = next(pathlib.Path("/usr/lib").glob("*/libLLVM-14.so.1"), None)
    searched = ":".join(sorted({str(each.parent) for each in site.glob("nvidia/*/lib/*.so*")} | {str(libraries)}))
    all_objects = f"find {env}/lib -name '*.so*' -type f -print0"
    each = f"{all_objects} | xargs -0 -P {os.cpu_count()} -n 20"
    out = {}
    for name, library in (("libtorch_cpu.so", libraries / "libtorch_cpu.so"), ("libLLVM-14.so", llvm)):
        if not library:
            continue
        out[f"dynamic symbols of {name} ({library.stat().st_size / 1e6:.0f} MB)"] = {
            "wheelvet inspect --exports": [ours, "inspect", library, "--exports", "--mangled"],
            "eu-readelf -s": peer("eu-readelf", "-s", library),
            "llvm-readelf --dyn-syms": peer("llvm-readelf", "--dyn-syms", library),
            "nm -D": peer("nm", "-D", library),
            "elfdeps --symbols -P": peer("elfdeps", "--symbols", "--no-filter-soname", "-P", library),
            "torch-abi-audit": peer("torch-abi-audit", library),
            "abicheck dump": peer("abicheck", "dump", library),
            "abidw": peer("abidw", "--no-corpus-path", library),
            "floor: cat of the file": ["cat", library],
        }
    out["flash_ops beside torch's libraries, unpacked"] = {
        "wheelvet check --with": [ours, "check", flash, "--with", site / "torch"],
        "nm, sort, comm (names alone)": shell(
            f"comm -23 <(nm -D --undefined-only {flash} | awk '$1==\"U\"{{print $2}}' | sort -u) "
            f"<(for l in {libraries}/*.so*; do nm -D --defined-only $l; done | awk '{{print $NF}}' | sort -u)", "nm"),
        "ldd -r (runs the loader)": shell(f"LD_LIBRARY_PATH={searched} ldd -r {flash}", "ldd"),
        "libtree (names of libraries alone)": shell(f"LD_LIBRARY_PATH={searched} libtree {flash}", "libtree"),
        "abicheck deps tree": shell(f"LD_LIBRARY_PATH={searched} {program('abicheck', folder)} deps tree {flash}",
                                    "abicheck"),
    }
    out[f"sgl_kernel's wheel ({sgl.stat().st_size / 1e6:.0f} MB)"] = {
        "wheelvet check --with torch==2.9.1": [ours, "check", sgl, "--with", "torch==2.9.1"],
        "bsdtar -xO (inflates alone)": peer("bsdtar", "-xOf", sgl),
        "auditwheel show": peer("auditwheel", "show", sgl),
        "elfdeps -R": peer("elfdeps", "-R", sgl),
        "unzip, torch-abi-audit": shell(f"rm -rf {work}/u && unzip -q {sgl} -d {work}/u && "
                                        f"{program('torch-abi-audit', folder)} {work}/u/sgl_kernel", "unzip",
                                        "torch-abi-audit"),
        "floor: cat of the file": ["cat", sgl],
    }
    own = [ours, "check", "--env", env]
    out["an installed torch with its nvidia packages, every module"] = {
        "wheelvet check --env": own,
        "eu-readelf -d -s of every object": shell(f"{each} eu-readelf -d -s", "eu-readelf"),
        "llvm-readelf -d --dyn-syms": shell(f"{each} llvm-readelf -d --dyn-syms", "llvm-readelf"),
        "ldd -r of every object": shell(f"{all_objects} | LD_LIBRARY_PATH={searched} xargs -0 -P {os.cpu_count()} -n 1 "
                                        "ldd -r", "ldd"),
        "libtree": shell(f"{all_objects} | LD_LIBRARY_PATH={searched} xargs -0 -P {os.cpu_count()} -n 20 libtree",
                         "libtree"),
        "torch-abi-audit --site-packages": peer("torch-abi-audit", "--site-packages", site),
        "floor: as many bytes as it reads": f"cat {libraries}/*.so | head -c {bytes_read(own)}",
    }
    old, new = sorted(wheels.glob("torch-2.9.1-*.whl")), sorted(wheels.glob("torch-2.10.0-*.whl"))
    if old and new:
        pair = []
        for wheel in (old[0], new[0]):
            place = work / wheel.name
            place.mkdir()
            subprocess.run(["bsdtar", "-xf", wheel, "-C", place, "torch/lib/libc10.so"], check=True)
            pair.append(place / "torch" / "lib" / "libc10.so")
        out["what changed in libc10.so, 2.9.1 to 2.10.0"] = {
            "wheelvet diff": [ours, "diff", *pair],
            "abidiff": peer("abidiff", *pair),
            "abicheck compare": peer("abicheck", "compare", *pair),
        }
    if matrix:
        targets = sorted(matrix.glob("*.whl"))
        files = {}
        for name, releases in (("all", RELEASES), ("one", RELEASES[-5:-4])):
            files[name] = work / f"{name}.toml"
            files[name].write_text(f"targets = {[str(wheel.resolve()) for wheel in targets]}\n"
                                   f"providers = {[f'torch=={version}' for version in releases]}\n")
        size = sum(wheel.stat().st_size for wheel in targets)
        out[f"{len(targets)} wheels ({size / 1e9:.1f} GB) beside 16 releases of torch: {16 * len(targets)} cells"] = {
            "wheelvet matrix": [ours, "matrix", files["all"], "--no-cache"],
            "wheelvet matrix, one release": [ours, "matrix", files["one"], "--no-cache"],
            "bsdtar -xO of each (inflates alone)": shell(
                "; ".join(f"bsdtar -xOf {shlex.quote(str(wheel))}" for wheel in targets), "bsdtar"),
            "auditwheel show of each": shell(
                "; ".join(f"{program('auditwheel', folder)} show {shlex.quote(str(wheel))}" for wheel in targets),
                "auditwheel"),
            "floor: cat of the wheels": ["cat", *map(str, targets)],
        }
    return out


def table(ours, env, wheels, matrix, folder, work, runs, only):
    lines = ["| job | command | wall | processor | peak memory | to ours |", "|---|---|---|---|---|---|"]
    absent = set()
    print("\n".join(lines), flush=True)
    for title, commands in jobs(ours, env, wheels, matrix, folder, work).items():
        if only not in title:
            continue
        rows, missing = rows_of(title, commands, runs)
        lines += rows
        absent |= set(missing)
    return lines, sorted(absent)
