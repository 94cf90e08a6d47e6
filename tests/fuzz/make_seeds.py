#!/usr/bin/env python3
"""Makes the seeds of the fuzz targets that are not text: make_seeds.py ELF_FIXTURES FOLDER

Nothing opaque is kept in the repository: libraries come from the fixtures, archives from zipfile.
"""
import io
import json
import os
import re
import struct
import sys
import tomllib
import zipfile
import zlib

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

# Every message that rules/ know, once.
fillings = {"file": "/v/site-packages/a/_C.abi3.so", "symbol": symbol.decode(), "version": "12.8.1", "number": "12080",
            "word": "sm_90"}
with open(os.path.join(here, "..", "..", "rules", "messages.toml"), "rb") as file:
    messages = tomllib.load(file)["message"]


def filling(hole):
    return fillings.get(hole[1].split(":")[-1], "9, 1, 0")


for number, message in enumerate(messages):
    wordings = message["text"] if isinstance(message["text"], list) else [message["text"]]
    put("explain", f"message_{number}", "\n".join(re.sub(r"{([^{}]+)}", filling, each) for each in wordings).encode())

# A report and a part of a matrix as the program writes them, and what is read of other programs.
finding = {"id": "SYM-001", "severity": "error", "title": "a imports b", "alternative": False, "objects": ["a.so"],
           "roots": ["a.so"], "symbols": [{"symbol": "_Z1f", "demangled": "f()", "version": "V1", "wanted_by": ["a.so"],
                                           "near_misses": [{"symbol": "_Z1fi", "demangled": "f(int)", "provider": "b.so",
                                                            "difference": "argument 1"}]}],
           "evidence": ["seen"], "cause": "c", "fix": {"text": "x", "verified": True}, "suppressed": "", "known": False}
root = {"path": "a.so", "name": "a", "package": "a 1", "module": True, "status": "fails", "alternatives": "",
        "excused": False, "imports_first": ["torch"], "opens_first": [{"path": "b.so", "global": True}], "opener": "",
        "imports": {"bound": 1, "assumed": 0, "undecided": 0, "missing": 1}, "missing_libraries": [],
        "missing_symbols": ["_Z1f"], "missing_versions": []}
cuda = {"driver": "570", "driver_because": "x",
        "libraries": [{"soname": "libcudart.so.12", "kind": "runtime", "how": "needed", "state": "found", "path": "p",
                       "owner": "o", "version": "12.8", "cuda": "12.8", "declared_by": "d", "roots": ["a.so"]}],
        "modules": [{"path": "a.so", "runtime": "12", "driver": "570", "driver_because": "b", "driver_functions": ["f"],
                     "nccl": "2.27", "nccl_functions": ["g"]}]}
containers = dict.fromkeys(("judged", "own", "family", "older", "compiled", "elsewhere", "unserved", "unjudged"), 1)
gpu = {"gpu": "sm_90", "products": ["H200"], "driver": {"lowest": "525", "because": "x"},
       "libraries": [{"path": "a.so", "architectures": ["sm_90"], "containers": containers, "gap_architectures": [],
                      "kernels_without": 0, "examples": [], "ptx_version": "8.0", "not_used": ""}]}
report = {"schema_version": 1, "verdict": "fails", "headline": "h", "complete": True,
          "scenario": {"python": "3.12", "python_from": "tag"},
          "inputs": [{"label": "a.whl", "kind": "stub", "role": "target", "packages": ["a 1"], "size": 1,
                      "directory_sha256": "00", "stub_of": {"file": "a.whl", "size": 2, "sha256": "00"}}],
          "roots": [root], "findings": [finding], "undecided": [{"owner": "o", "count": 1, "examples": ["e"], "roots": []}],
          "assumptions": [{"library": "libcuda.so.1", "kind": "driver", "owner": "o", "because": "b", "roots": 1}],
          "problems": [{"input": "a.whl", "member": "m", "field": "f", "offset": 1, "reason": "r"}],
          "cuda": cuda, "gpus": [gpu], "scope": ["s"], "configuration": "wheelvet.toml"}
cell = {"cell": {"index": 0, "target": "a.whl", "provider": "torch", "scenario": "3.12"}, "report": report}
use = {"rule": "SYM-001", "reason": "r", "until": "2030-01-01", "file": "f", "line": 1, "in_scope": True, "used": False}
whole = {"matrix": {"file": "m.toml", "total": 2, "suppressions": [use]}, "report": dict(report, findings=[])}


def lines(*documents):
    return "\n".join(json.dumps(each, separators=(",", ":")) for each in documents).encode()


put("report", "report", lines(report))
put("report", "lines", lines(cell, whole))
put("report", "matrix", lines(dict(whole, cells=[cell])))
put("json", "report", lines(report))
put("json", "probe", lines({"tool": {"name": "wheelvet-probe"}, "schema_version": 1, "verdict": "passes",
                            "driver": {"version": "580.95.05"}, "devices": [{"compute_capability": [9, 0]}]}))
put("json", "tuning", lines({"nccl": "2.28.9", "driver": {"version": "580"}, "settings": [{"setting": "NCCL_PROTO=LL"}]}))
put("json", "dlopen_note", lines([{"soname": ["liba.so.1"], "feature": "a", "priority": "required"}]))
put("json", "escapes", b'{"a\\u001b":[1.5e3,-0,"\\ud83d\\ude00",null,true]}')
put("stub_manifest", "stub", b"Stub-Version: 1\nOrigin-File: a.whl\nOrigin-Size: 12\nOrigin-SHA256: 00ff\n"
    b"Archive-Fault: ZIP-001\t17\tm\\x1b\td\nProblem: -\tm\tf\tr\n")

# Deflate data behind the flags and numbers that inflate.cpp describes: stored, fixed and dynamic blocks.
for name, data in {"short": b"abc", "runs": b"a" * 300 + b"bc" * 50, "words": b" ".join(b"w%d" % i for i in range(200))}.items():
    put("inflate", name, b"\7" + bytes(6) + data)
    for level in (0, 9):
        deflate = zlib.compressobj(level, zlib.DEFLATED, -15)
        put("inflate", f"{name}_{level}", b"\6" + bytes(6) + deflate.compress(data) + deflate.flush())
put("inflate", "member", b"\x1b\0\0\1\0\2\0stored")

for number, name, text in (
        (0, "project", 'select = ["SYM-001", "LIB"]\njobs = 4\nfail-on = "warning"\nplatform = "x86_64"\nhash = true\n'
         'with = ["torch==2.10.0"]\n[severity]\nSYM-001 = "note"\n[[suppress]]\nrule = "SYM-*"\nobject = "*.so"\n'
         'reason = "r"\nuntil = 2030-01-31\n'),
        (1, "matrix", 'targets = ["*.whl"]\nproviders = ["torch==2.10.0"]\n[[provider]]\nname = "p"\nwith = "w"\n'
         '[[scenario]]\npython = "3.12"\ngpu = ["sm_90"]\nimport = "torch"\n[[exclude]]\ntarget = "b*"\n'
         '[[include]]\nprovider = "*"\n[[expect]]\ntarget = "a*"\nrules = ["SYM-001"]\nreason = "r"\n'),
        (2, "libraries", open(os.path.join(os.path.dirname(here), "..", "rules", "libraries.txt")).read()[:3000]),
        (0, "dotted", "a.b.c = {d.e = [1.5, 'x', \"\"\"y\n\"\"\"], f = 1979-05-27T07:32:00Z}\n[[x.y]]\nz = 0x1f\n")):
    put("toml", name, bytes([number]) + text.encode())

put("site_script", "forms", b'''import os, sys
from os import environ as e
def prepend(name, value="/x", *rest):
    old = os.environ.get(name, "")
    os.environ[name] = value + (os.pathsep + old if old else "")
if "CUDA_HOME" not in os.environ:
    os.environ["CUDA_HOME"] = "/usr/local/cuda"
elif os.path.exists("/usr/local/cuda"):
    os.environ.setdefault("CUDA_PATH", f"{sys.prefix}/cuda")
else:
    del os.environ["CUDA_PATH"]
for key, value in {"A": "1", "B": ...}.items():
    try:
        e[key] = value
    except TypeError as error:
        print(error)
    finally:
        pass
prepend("LD_LIBRARY_PATH", os.path.join("/opt", "lib"))
os.environ.update({"NCCL_DEBUG": "WARN"}, TRITON_PTXAS_PATH=("/a", "/b")[0])
os.environ["X"] = "a" if os.getenv("Y") == "1" and not sys.flags or "b" in ["b"] else ":".join(["c", "d"])
os.environ["PATH"] += ":/z"
''')
for number, name, text in (
        (0, "ld_so_conf", "include ld.so.conf.d/*.conf\n/usr/local/cuda/lib64 # comment\n/a=libc6\nhwcap 0 x\n"),
        (1, "profile", "export CUDA_HOME=/usr/local/cuda\nPATH=$CUDA_HOME/bin:${PATH}\n"
         "LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/x\nA='$B'\nB=${C:-d}\n"),
        (2, "unit", "[Unit]\n[Service]\nEnvironment=\"A=1\" B=$C \\\n  D\nEnvironmentFile=-/etc/one.env\n"
         "EnvironmentFile=/none\nPassEnvironment=HOME\nExecStart=/opt/env/bin/python3 -S x.py\n"),
        (3, "compose", "services:\n  web:\n    command: python x\n    env_file: one.env\n    environment:\n"
         "      - A=1\n      - B\n  other:\n    environment:\n      C: \"2\" # c\n    env_file:\n      - /etc/one.env\n"),
        (4, "dockerfile", "FROM a AS b\nENV A=1 B=\"x y\" \\\n  C=$A\nENV D e f\nFROM c\nENV E=${A:-q}\n"),
        (5, "env", "A=1\nexport B=\"$A\"\n"),
        (6, "nccl", "NCCL_PROTO=LL,^Simple\nNCCL_P2P_LEVEL=7\nNCCL_BUFFSIZE=0x10z\nNCCL_NTHREADS=33\n"
         "NCCL_ALGO=AllReduce:^Ring;Tree\nNCCL_PROTOO=1\n#x\n"),
        (7, "version_json", '{"cuda":{"name":"CUDA SDK","version":"13.0.1"},"libcublas":{"name":"x","version":"13.0.2.14"}}'),
        (8, "header", "#define CUDART_VERSION  13000\n#  define CUDA_VERSION 12080\n"),
        (9, "driver", "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build\n"),
        (10, "gpu", "Model: \t\t NVIDIA H200\nIRQ:   1\nGPU UUID: \t GPU-x\nBus Location: \t 0000:01:00.0\n"),
        (11, "pth", "import os; os.environ['A'] = '1'\n/opt/x\n# c\nimport\tsys, site_x\n"),
        (12, "torch", "__version__ = '2.9.1+cu128'\ncuda: Optional[str] = '12.8'\n"),
        (13, "preload", "/a.so:/b.so # c\nlibc.so.6\n"),
        (14, "list", '[python]\nversion = "3.12"\n[packages]\ntorch = "2.9.1"\n[gpu]\ncount = 8\narchitectures = ["9.0"]\n'
         '[driver]\nfloor = "580"\n[toolkit]\nnvcc = "13.0"\n'),
        (15, "loader", "stable release version 2.36.\n\0/lib/x86_64-linux-gnu/\0/usr/lib/\0/x\0")):
    put("host_files", name, bytes([number]) + text.encode())
