"""Makes a folder that stands for the root of a machine: toolkits, environment, units, caches, driver."""

import os
import pathlib
import shutil
import tempfile

LOADER = b"\0/lib/x86_64-linux-gnu/\0/usr/lib/\0\0ld.so stable release version 2.36.\n\0"
HEADERS = """cuda.h cuda_runtime.h cuda_runtime_api.h cuda_bf16.h cuda_fp16.h cuda_fp8.h cuda_fp4.h cuda_pipeline.h
cooperative_groups.h cudaTypedefs.h crt/host_config.h cublas_v2.h cublasLt.h cublas_api.h curand.h curand_kernel.h
curand_philox4x32_x.h cusparse.h cusolverDn.h cusolver_common.h nvrtc.h cub/cub.cuh cuda/std/version""".split()
TOOLS = "bin/nvcc bin/cudafe++ bin/ptxas bin/fatbinary bin/nvlink bin/nvcc.profile nvvm/bin/cicc".split()
# Components of a release: version.json's name, library, soname's number, version.
PARTS = {
    "12.8": [("libcublas", "libcublas", "12", "12.8.4.1"), ("libcublas", "libcublasLt", "12", "12.8.4.1"),
             ("libcurand", "libcurand", "10", "10.3.9.90"), ("libcusparse", "libcusparse", "12", "12.5.8.93"),
             ("cuda_cudart", "libcudart", "12", "12.8.90"), ("cuda_nvrtc", "libnvrtc", "12", "12.8.93")],
    "13.0": [("libcublas", "libcublas", "13", "13.1.0.3"), ("libcublas", "libcublasLt", "13", "13.1.0.3"),
             ("libcurand", "libcurand", "10", "10.4.0.35"), ("libcusparse", "libcusparse", "12", "12.6.3.3"),
             ("cuda_cudart", "libcudart", "13", "13.0.96"), ("cuda_nvrtc", "libnvrtc", "13", "13.0.88")],
}


class HostRoot:
    """A root; paths are as a process on it sees them."""

    def __init__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="host_root_"))
        self.file("/lib64/ld-linux-x86-64.so.2", LOADER)
        self.file("/usr/bin/cmake", "", 0o755)
        self.file("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\n")
        self.folder("/root")
        self.folder("/home/user")
        self.folder("/tmp")

    def at(self, path):
        return self.path / path.lstrip("/")

    def folder(self, path):
        self.at(path).mkdir(parents=True, exist_ok=True)

    def file(self, path, content="", mode=None):
        here = self.at(path)
        here.parent.mkdir(parents=True, exist_ok=True)
        if here.is_symlink():
            here.unlink()
        here.write_bytes(content if isinstance(content, bytes) else content.encode())
        if mode:
            here.chmod(mode)
        return here

    def link(self, path, target):
        here = self.at(path)
        here.parent.mkdir(parents=True, exist_ok=True)
        if here.is_symlink() or here.exists():
            here.unlink()
        os.symlink(target, here)

    def remove(self, path):
        here = self.at(path)
        shutil.rmtree(here) if here.is_dir() and not here.is_symlink() else here.unlink()

    def toolkit(self, release, path=None):
        """A complete toolkit as NVIDIA's system packages lay it out."""
        base = path or f"/usr/local/cuda-{release}"
        major, minor = release.split(".")
        for tool in TOOLS:
            self.file(f"{base}/{tool}", f"#!/bin/sh\n# Cuda compilation tools, release {release}, V{release}.88\n", 0o755)
        self.file(f"{base}/nvvm/libdevice/libdevice.10.bc", "BC")
        for header in HEADERS:
            self.header(base, header, release)
        listed = {}
        for part, library, number, version in PARTS[release]:
            self.file(f"{base}/lib64/{library}.so.{version}", b"\x7fELF")
            if version != number:
                self.link(f"{base}/lib64/{library}.so.{number}", f"{library}.so.{version}")
            self.link(f"{base}/lib64/{library}.so", f"{library}.so.{number}")
            listed[part] = version
        for name in ("libcudart_static.a", "libcudadevrt.a", "stubs/libcuda.so"):
            self.file(f"{base}/lib64/{name}", b"\x7fELF")
        entries = [f'"cuda": {{"name": "CUDA SDK", "version": "{release}.1"}}']
        entries += [f'"{part}": {{"name": "CUDA {part}", "version": "{version}"}}' for part, version in listed.items()]
        self.file(f"{base}/version.json", "{\n " + ",\n ".join(entries) + "\n}\n")
        return base

    def header(self, base, header, release):
        major, minor = release.split(".")
        number = int(major) * 1000 + int(minor) * 10
        text = f"// {header}\n"
        if header == "cuda.h":
            text += f"#define CUDA_VERSION {number}\n"
        if header == "cuda_runtime_api.h":
            text += f"#define CUDART_VERSION  {number}\n"
        macros = {"cublas_api.h": ("CUBLAS_VER_", "libcublas"), "curand.h": ("CURAND_VER_", "libcurand"),
                  "cusparse.h": ("CUSPARSE_VER_", "libcusparse")}
        if header in macros:
            prefix, part = macros[header]
            version = next(each[3] for each in PARTS[release] if each[0] == part)
            for name, number in zip(("MAJOR", "MINOR", "PATCH", "BUILD"), version.split(".")):
                text += f"#define {prefix}{name} {number}\n"
        self.file(f"{base}/include/{header}", text)

    def environment(self, prefix="/opt/venv", python="3.12", torch=None, cuda=None):
        """A virtual environment over /usr whose interpreter is not there: its links end nowhere."""
        self.folder(f"/usr/lib/python{python}/lib-dynload")
        self.file(f"{prefix}/pyvenv.cfg", f"home = /usr/bin\nversion = {python}.1\n")
        self.link(f"{prefix}/bin/python{python}", f"/usr/bin/python{python}")
        self.link(f"{prefix}/bin/python3", f"python{python}")
        self.site = f"{prefix}/lib/python{python}/site-packages"
        self.folder(self.site)
        if torch:
            self.package("torch", torch)
            spelt = f"'{cuda}'" if cuda else "None"
            self.file(f"{self.site}/torch/version.py", f"__version__ = '{torch}'\ncuda: Optional[str] = {spelt}\n")
        return prefix

    def package(self, name, version, requires=()):
        folder = f"{self.site}/{name.replace('-', '_')}-{version}.dist-info"
        self.file(f"{folder}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
                  + "".join(f"Requires-Dist: {each}\n" for each in requires))
        self.file(f"{folder}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        stem = folder.rsplit("/", 1)[1]
        self.file(f"{folder}/RECORD", f"{stem}/METADATA,,\n{stem}/WHEEL,,\n{stem}/RECORD,,\n")

    def driver(self, kernel, libcuda=None, gpus=()):
        self.file("/proc/driver/nvidia/version", f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {kernel}  Tue\n")
        version = libcuda or kernel
        self.file(f"/usr/lib/libcuda.so.{version}", b"\x7fELF")
        self.link("/usr/lib/libcuda.so.1", f"libcuda.so.{version}")
        for index, model in enumerate(gpus):
            self.file(f"/proc/driver/nvidia/gpus/0000:{index:02x}:00.0/information", f"Model: \t\t {model}\nIRQ: 1\n")
