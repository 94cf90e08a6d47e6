#!/usr/bin/env python3
"""Makes the seeds of the fuzz targets that are not text: make_seeds.py ELF_FIXTURES FOLDER

Nothing opaque is kept in the repository: libraries come from the fixtures, archives from zipfile.
"""
import io
import os
import shutil
import struct
import sys
import zipfile

fixtures, out = sys.argv[1:]


def put(target, name, data):
    os.makedirs(os.path.join(out, target), exist_ok=True)
    with open(os.path.join(out, target, name), "wb") as file:
        file.write(data)


for name in ("small/libsmall.so", "scenes/version_old_form/lib/libversioned.so", "scenes/sysv_hash_only/libroot.so"):
    with open(os.path.join(fixtures, name), "rb") as file:
        data = file.read()
    put("elf", os.path.basename(name), data)
    put("spool", os.path.basename(name), b"\x61\x01" + data)
for force in (False, True):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/one.txt", "text " * 20)
        with archive.open("b", "w", force_zip64=force) as member:
            member.write(b"more text")
        archive.writestr(zipfile.ZipInfo("c"), b"stored")
    put("archive", f"zip64_{force}.whl", buffer.getvalue())
put("stub_note", "one_segment", struct.pack("<IIQ", 1, 1, 1000) + bytes(56) + b"\1\2\0")

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))
from history_parts import pack  # noqa: E402

library = {"machine": "x86_64", "soname": "libc10.so", "needed": ["libc.so.6"], "rpath": ["$ORIGIN"], "runpath": [],
           "versions": {"libc.so.6": ["GLIBC_2.17"]}, "size": 1000, "exports": 3,
           "names": ["_ZN3c104cuda9SetDeviceEi", "_ZN3c104cuda9GetDeviceEPi", "torch_x"]}
build = {"version": "2.1.0", "label": "2.1.0+cu121", "wheel": "torch-2.1.0-cp311-cp311-manylinux1_x86_64.whl",
         "cuda": "12.1", "requires_python": ">=3.8", "requires": ["sympy"], "libraries": {"torch/lib/libc10.so": library}}
put("history", "one_build", b"\0" + pack.table([build]))
put("history", "names", b"\1" + struct.pack("<HH", 3, 7) + b"\1\0\1" + b"\0\3\2\1" + b"\0\0\0" + b"abcd")

strings = b"libone.so\0/lib/libone.so\0x86-64-v3\0\0"
cache = (b"glibc-ld.so.cache1.1" + struct.pack("<IIIIIII", 1, len(strings), 2, 72 + len(strings), 0, 0, 0)
         + struct.pack("<iIIIQ", 0x0303, 72, 82, 0, 1 << 62) + strings
         + struct.pack("<IIIIIII", 0xeaa42174, 1, 1, 0, 72 + len(strings) + 24, 4, 97))
put("ld_cache", "new", cache)
put("ld_cache", "compat", b"ld.so-1.7.0\0" + struct.pack("<I", 0) + cache)

here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "fixtures", "device_code")
for name in sorted(os.listdir(here)):
    if name.endswith((".fatbin", ".cubin", ".ptx")):
        with open(os.path.join(here, name), "rb") as file:
            put("device_code", name, b"\x7f" + file.read())
symbol = b"_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_ib"
for name, text in {
    "symbol": b"ImportError: /v/site-packages/sgl_kernel/common_ops.abi3.so: undefined symbol: " + symbol + b"\ntorch 2.10.0+cu128\n",
    "version": b"OSError: /x/libcusparse.so.12: undefined symbol: __nvJitLinkAddData_12_1, version libnvJitLink.so.12",
    "floor": b"/lib64/libc.so.6: version `GLIBC_2.32' not found (required by /v/site-packages/a/_C.so)",
    "library": b"  File \"/v/site-packages/vllm/x.py\", line 1\nImportError: libcudart.so.13: cannot open shared object file: No such",
    "gpu": b"\x1b[31mptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'\x1b[0m\ncompute capability 8.7\nno kernel "
           b"image is available for execution on the device",
    "driver": b"too old (found version 12080)\nThe NVIDIA driver on your system is too old (found version 12080).",
    "demangled": b"undefined symbol: c10::MessageLogger::stream[abi:cxx11]()",
    "german": b"ImportError: /a/b.abi3.so: undefiniertes Symbol: " + symbol,
}.items():
    put("explain", name, text)
