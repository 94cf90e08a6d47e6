"""Our declarations against the headers of CUDA and NCCL, where there are some: the toolkit's, or those of
NVIDIA's wheels in the pip cache folder of the tests."""

import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
PROBE = pathlib.Path(os.environ["WHEELVET_SOURCE"]) / "tools" / "probe"
FOLDERS = [pathlib.Path(folder) / "include" for folder in
           (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda", "/usr", "/usr/local")
           if folder]


def compile_with(defines):
    command = [os.environ.get("CXX", "c++"), "-std=c++20", "-fsyntax-only", f"-I{PROBE}",
               *[f"-isystem{folder}" for folder in FOLDERS if folder.is_dir() and str(folder) != "/usr/include"],
               *[f"-D{name}" for name in defines], str(HERE / "api_fits_headers.cpp")]
    return subprocess.run(command, capture_output=True, text=True)


def has(*headers):
    return all(any((folder / header).is_file() for folder in FOLDERS) for header in headers)


def main():
    defines = []
    if has("cuda.h", "nvrtc.h"):
        defines.append("WITH_CUDA")
    if has("curand.h", "cublas_v2.h"):
        defines.append("WITH_MATH")
    if has("nccl.h"):
        defines.append("WITH_NCCL")
    if not defines:
        print("SKIPPED: probe_api_fits_headers: no header of CUDA or NCCL here")
        sys.exit(77)
    done = compile_with(defines)
    print("compared:", ", ".join(defines))
    if done.returncode != 0:
        print(done.stderr)
        sys.exit(1)


main()
