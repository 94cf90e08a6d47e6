#!/usr/bin/env python3
"""Device code: our listing against cuobjdump's, container by container.

cuobjdump.py WHEELVET [FILE...] [--all]

Each container is cut out of its file and given to cuobjdump by itself, since that looks for containers in two named
sections only. Without FILE the ones in fixtures/device_code are compared, and made anew with nvcc where there is
one. At most 300 containers of a file, evenly chosen; all with --all. Without cuobjdump on PATH or in CUDA_HOME
the test is skipped. (pip: nvidia-cuda-cuobjdump, nvidia-cuda-nvcc, nvidia-nvvm, nvidia-cuda-crt)"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
FIXTURES = SOURCE / "fixtures" / "device_code"
LINE = re.compile(r"(ELF|PTX) file +\d+: .*\.(sm_\d+[af]?)\.(?:cubin|ptx)$")


def tool(name):
    home = os.environ.get("CUDA_HOME")
    return shutil.which(name) or (shutil.which(os.path.join(home, "bin", name)) if home else None)


def theirs(cuobjdump, path):
    run = subprocess.run([cuobjdump, "-all", "--list-elf", "--list-ptx", path], capture_output=True, text=True)
    return [(match[1], match[2]) for match in map(LINE.match, run.stdout.splitlines()) if match]


def ours(container):
    out = []
    for image in container["images"]:
        # cuobjdump's names of cubins show an 'a' and not an 'f', even on what nvcc made for sm_100f.
        if image["kind"] == "cubin":
            out.append(("ELF", image["arch"].rstrip("f")))
        elif image["kind"] == "ptx":
            out.append(("PTX", image["arch"].replace("compute_", "sm_")))
    return out


def inspect(program, path, *options):
    run = subprocess.run([program, "inspect", "--device", *options, "--format", "json", path], capture_output=True,
                         text=True)
    if run.returncode not in (0, 3):
        sys.exit(f"{path}: {run.stderr}")
    return json.loads(run.stdout)


def compare(program, cuobjdump, path, everything):
    """Containers compared, and lines about those that differ."""
    report = inspect(program, path)
    compared, wrong = 0, [f"{path}: {problem}" for problem in report["problems"]]
    for file in report["files"]:
        containers = [each for each in file.get("device", {}).get("containers", []) if each["carrier"] == "fatbin"]
        step = 1 if everything else max(1, len(containers) // 300)
        with open(path, "rb") as data, tempfile.TemporaryDirectory() as folder:
            for container in containers[::step]:
                data.seek(container["offset"])
                cut = os.path.join(folder, "cut.fatbin")
                pathlib.Path(cut).write_bytes(data.read(container["size"]))
                want, have = sorted(theirs(cuobjdump, cut)), sorted(ours(container))
                compared += 1
                if want != have:
                    wrong.append(f"{path} at {container['offset']:#x}: cuobjdump {want}, ours {have}")
    return compared, wrong


def as_expected(program, folder):
    """The fixtures hold what nvcc was asked for."""
    wrong = []
    for name, want in json.loads((folder / "expected.json").read_text()).items():
        file = inspect(program, str(folder / name), "--kernels")["files"][0]
        images, kernels = [], []
        for container in file["device"]["containers"]:
            kernels += container["kernels"]
            for image in container["images"]:
                images.append(image["arch"] + (" to be linked" if image["relocatable"] else "")
                              + (" debug" if image["debug"] else ""))
        have = {"images": sorted(images), "kernels": sorted(kernels)}
        if have != want:
            wrong.append(f"{folder / name}: expected {want}, ours {have}")
    return wrong


def main():
    arguments = [each for each in sys.argv[1:] if each != "--all"]
    everything = "--all" in sys.argv
    program, files = arguments[0], arguments[1:]
    wrong = [] if files else as_expected(program, FIXTURES)
    cuobjdump, nvcc = tool("cuobjdump"), tool("nvcc")
    total = 0
    with tempfile.TemporaryDirectory() as made:
        if not files:
            files = sorted(map(str, FIXTURES.glob("*.fatbin")))
            if nvcc:
                environment = dict(os.environ, PATH=os.path.dirname(nvcc) + os.pathsep + os.environ["PATH"])
                subprocess.run([FIXTURES / "make", made], check=True, env=environment)
                wrong += as_expected(program, pathlib.Path(made))
                files += sorted(map(str, pathlib.Path(made).glob("*.fatbin")))
            else:
                print("SKIPPED: nvcc is not there; the containers in fixtures/ are compared alone")
        if cuobjdump:
            for path in files:
                compared, differing = compare(program, cuobjdump, path, everything)
                total += compared
                wrong += differing
                print(f"{path}: {compared} containers, {len(differing)} differ", flush=True)
        else:
            print("SKIPPED: cuobjdump is not there (pip: nvidia-cuda-cuobjdump)")
    for line in wrong[:50]:
        print(line)
    print(f"{total} containers compared, {len(wrong)} differences")
    sys.exit(1 if wrong else 0)


main()
