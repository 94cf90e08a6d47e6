"""Writes the table of names from the cache. The format is described in docs/history.md."""

import collections
import re
import struct
import zlib

from history_parts import wheels

MAGIC = b"WVHISTRY"
FORMAT = 1
NAMES_PER_BLOCK = 2048
LARGEST_BLOCK = 1 << 20   # of a block before deflation, which the reader does not exceed

# Which names are kept. The lists are part of the table: what they do not cover is not known, never missing.
OPENERS = ["_ZN", "_ZNK", "_ZNKO", "_ZNKR", "_ZNO", "_ZNR", "_ZGVN", "_ZTHN", "_ZTIN", "_ZTSN", "_ZTTN", "_ZTVN",
           "_ZTWN"]
NAMESPACES = ["2at", "3c10", "4c10d", "5torch", "6caffe2", "6fbgemm", "8pybind11"]
GLOBALS = ["THP", "torch_"]                      # C++ functions outside a namespace
PLAIN = ["FLAGS_", "THP", "aoti_torch_", "cgemm_", "cpuinfo_", "dgemm_", "sgemm_", "torch_", "zgemm_"]  # C names
# No other translation unit can refer to the first three: internal linkage, and closures in the bodies of torch's own
# kernels (an inline function that holds one is emitted, weak, wherever it is used, and then is no import). The others
# are the compiler's copies of CPython's frame functions, which differ between Python tags, of which one is read.
WITHOUT = ["_GLOBAL__N_", "__nv_dl_", "__nv_hdl_", "THP_Py", "THPPyInterpreterFrame"]
COVERAGE = {"opener": OPENERS, "namespace": NAMESPACES, "global": GLOBALS, "plain": PLAIN, "without": WITHOUT}

IN_NAMESPACE = tuple(opener + namespace for opener in OPENERS for namespace in NAMESPACES)


class PackError(Exception):
    pass


def covered(name):
    if any(word in name for word in WITHOUT):
        return False
    outside = re.match(r"_Z\d+", name)
    if outside:
        return name[outside.end():].startswith(tuple(GLOBALS))
    return name.startswith(IN_NAMESPACE) or name.startswith(tuple(PLAIN))


def machine_of(build):
    return next(library["machine"] for library in build["libraries"].values())


def new_strings(build):
    """Whether std::string is the C++11 one: the compiler then tags what returns one (libstdc++'s abi_tag "cxx11")."""
    return any("B5cxx11" in name for name in build["libraries"]["torch/lib/libc10.so"]["names"])


def only_covered(build):
    """The other names, two thirds of all, would fill the memory."""
    for library in build["libraries"].values():
        library["exports"] = len(library["names"])
        library["names"] = list(filter(covered, library["names"]))
    return build


def load_builds(cache):
    chosen = {}
    for path in sorted(cache.glob("torch-*.json.gz")):
        build = only_covered(wheels.load(path))
        # Of several wheels of a release the rebuilt one, then the tag that the index is read for.
        key = (wheels.MACHINES.index(machine_of(build)), wheels.numbers(build["version"]))
        name = wheels.NAME.fullmatch(build["wheel"])
        rank = (int(name[2] or 0), name[3] == wheels.PYTHON)
        if key not in chosen or chosen[key][0] < rank:
            chosen[key] = (rank, build)
    if not chosen:
        raise PackError(f"nothing was read yet: {cache} holds no torch-*.json.gz")
    return [build for _, (_, build) in sorted(chosen.items(), key=lambda item: item[0])]


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def head_text(builds, libraries):
    lines = [f"{kind} {word}" for kind, words in COVERAGE.items() for word in words]
    lines += [f"library {path}" for path in libraries]
    for build in builds:
        lines.append(f"build {build['version']} {machine_of(build)}")
        lines.append(f"label {build['label']}")
        lines.append(f"wheel {build['wheel']}")
        lines.append(f"strings {'cxx11' if new_strings(build) else 'old'}")
        lines += [f"cuda {build['cuda']}"] if build["cuda"] else []
        lines += [f"python {build['requires_python']}"] if build["requires_python"] else []
    return "\n".join(lines) + "\n"


def facts_text(builds):
    lines = []
    for number, build in enumerate(builds):
        lines.append(f"build {number}")
        lines += [f"requires {' '.join(line.split())}" for line in build["requires"]]
        for path, library in sorted(build["libraries"].items()):
            lines.append(f"object {path}")
            lines.append(f"size {library['size']}")
            lines.append(f"exports {library['exports']}")
            lines += [f"soname {library['soname']}"] if library["soname"] else []
            for kind in ("needed", "rpath", "runpath"):
                lines += [f"{kind} {value}" for value in library[kind]]
            lines += [f"versions {file} {' '.join(names)}" for file, names in sorted(library["versions"].items())]
    return "\n".join(lines) + "\n"


def exports(builds):
    """name -> ((library number, bits of the builds), ...), and the libraries in the order of their numbers."""
    libraries = sorted({path for build in builds for path in build["libraries"]})
    numbers = {path: number for number, path in enumerate(libraries)}
    found = collections.defaultdict(lambda: collections.defaultdict(int))
    for bit, build in enumerate(builds):
        for path, library in build["libraries"].items():
            for name in library["names"]:
                found[name][numbers[path]] |= 1 << bit
    return {name: tuple(sorted(where.items())) for name, where in found.items()}, libraries


def pattern_bytes(patterns, builds):
    out = bytearray()
    for pattern in patterns:
        out += varint(len(pattern))
        for library, bits in pattern:
            out += varint(library) + bits.to_bytes((builds + 7) // 8, "little")
    return bytes(out)


def shared(a, b):
    length = 0
    for x, y in zip(a, b):
        if x != y:
            break
        length += 1
    return length


def block_bytes(names, number_of):
    """Three streams, each more alike in itself than all of them mixed: lengths, patterns, what follows the shared start."""
    lengths, patterns, rest, before = bytearray(), bytearray(), bytearray(), b""
    for name, pattern in names:
        same = shared(before, name)
        lengths += varint(same) + varint(len(name) - same)
        patterns += varint(number_of[pattern])
        rest += name[same:]
        before = name
    out = struct.pack("<2L", len(lengths), len(patterns)) + lengths + patterns + rest
    if len(out) > LARGEST_BLOCK:
        raise PackError(f"the block of {names[0][0]!r} is {len(out)} bytes")
    return out


def deflated(data):
    engine = zlib.compressobj(9, zlib.DEFLATED, -15, 9)
    return engine.compress(data) + engine.flush()


def table(builds):
    names, libraries = exports(builds)
    used = collections.Counter(names.values())
    patterns = sorted(used, key=lambda pattern: (-used[pattern], pattern))  # short numbers for the frequent ones
    number_of = {pattern: number for number, pattern in enumerate(patterns)}
    ordered = sorted((name.encode("utf-8", "surrogateescape"), pattern) for name, pattern in names.items())
    blocks, index = bytearray(), bytearray()
    for start in range(0, len(ordered), NAMES_PER_BLOCK):
        part = ordered[start:start + NAMES_PER_BLOCK]
        plain = block_bytes(part, number_of)
        packed = deflated(plain)
        index += struct.pack("<5L", len(blocks), len(packed), len(plain), zlib.crc32(plain), len(part))
        index += varint(len(part[0][0])) + part[0][0]
        blocks += packed
    sections = [head_text(builds, libraries).encode(), pattern_bytes(patterns, len(builds)), bytes(index),
                facts_text(builds).encode()]
    packed = [deflated(section) for section in sections]
    out = bytearray(MAGIC + struct.pack("<4L", FORMAT, len(builds), len(patterns), len(ordered)))
    at = len(out) + 16 * len(sections)
    for plain, small in zip(sections, packed):
        out += struct.pack("<4L", at, len(small), len(plain), zlib.crc32(plain))
        at += len(small)
    return bytes(out + b"".join(packed) + blocks)


def write(cache, path):
    builds = load_builds(cache)
    data = table(builds)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    print(f"{path}: {len(builds)} builds, {struct.unpack_from('<L', data, 20)[0]} names, {len(data)} bytes")
