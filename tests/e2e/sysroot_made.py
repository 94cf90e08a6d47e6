"""A folder that stands for the root of a machine, made for a test."""

import pathlib
import struct
import tempfile

# What is read of ld.so is text: the folders that it was built to search, and its release.
LOADER = b"\0/lib/x86_64-linux-gnu/\0/usr/lib/\0\0ld.so stable release version %s.\n\0"


def made_root(glibc=b"2.36"):
    root = pathlib.Path(tempfile.mkdtemp())
    for folder in ("lib64", "lib/x86_64-linux-gnu", "usr/lib", "opt", "etc", "srv/module"):
        (root / folder).mkdir(parents=True)
    (root / "lib64/ld-linux-x86-64.so.2").write_bytes(LOADER % glibc)
    return root


def cache(paths):
    strings, entries = b"", b""
    at = 48 + 24 * len(paths)
    for name, path in paths.items():
        key = at + len(strings)
        strings += name.encode() + b"\0"
        value = at + len(strings)
        strings += path.encode() + b"\0"
        entries += struct.pack("<iIIIQ", 0x0303, key, value, 0, 0)
    return b"glibc-ld.so.cache1.1" + struct.pack("<7I", len(paths), len(strings), 2, 0, 0, 0, 0) + entries + strings
