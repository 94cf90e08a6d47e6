"""tools/history on an index of its own: ranges, zip64, a wheel that cannot be read, what is read twice."""

import http.server
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest.mock
import zipfile

SOURCE = pathlib.Path(os.environ["WHEELVET_SOURCE"])
CODE = """
int torch_wanted(void);
int torch_one(void) { return 1; }
int _ZN3c104cuda9SetDeviceE%s(void) { return 1; }
int _ZN3c1012_GLOBAL__N_13twoEv(void) { return 2; }
int other(void) { return torch_wanted(); }
__attribute__((visibility("hidden"))) int torch_hidden(void) { return 4; }
static int torch_static(void) { return 5; }
int (*torch_pointer)(void) = torch_static;
"""
METADATA = "Metadata-Version: 2.1\nName: torch\nVersion: {}\nRequires-Python: >=3.8\nRequires-Dist: sympy ; extra == 'x'\n"


def library(folder, code, hash_style):
    path = folder / "lib.so"
    (folder / "lib.c").write_text(code)
    subprocess.run(["cc", "-shared", "-fPIC", "-nostdlib", "-Wl,-soname,libc10.so", f"-Wl,--hash-style={hash_style}",
                    "-o", path, folder / "lib.c"], check=True)
    return path.read_bytes()


def wheel(folder, name, version, data, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(folder / name, "w", method) as archive:
        archive.writestr("torch/unrelated.txt", "x" * 1000)
        archive.writestr("torch/lib/libc10.so", data)
        archive.writestr("torch/lib/libshm.so", library(folder.parent, "int torch_only(void) { return 1; }", "gnu"))
        archive.writestr("torch/version.py", f"__version__ = '{version}+cu121'\ncuda: Optional[str] = '12.1'\n")
        archive.writestr(f"torch-{version}.dist-info/METADATA", METADATA.format(version))


class Index(http.server.SimpleHTTPRequestHandler):
    asked = []

    def do_GET(self):
        if self.path.endswith("/torch/"):
            names = sorted(os.listdir(self.directory), reverse=True)
            return self.answer(200, "".join(f'<a href="/{name}">{name}</a>' for name in names).encode(), "text/html")
        data = (pathlib.Path(self.directory) / self.path.lstrip("/")).read_bytes()
        span = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        assert span, "a wheel was asked for as a whole"
        Index.asked.append(self.path)
        part = data[int(span[1]):int(span[2]) + 1]
        self.answer(206, part, "application/zip", f"bytes {span[1]}-{span[2]}/{len(data)}")

    def answer(self, status, body, kind, span=None):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if span:
            self.send_header("Content-Range", span)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def history(folder, *arguments):
    return subprocess.run([sys.executable, SOURCE / "tools" / "history", "--cache", folder / "cache", "--table",
                           folder / "torch.bin", *arguments], capture_output=True, text=True)


def make_wheels(index, scratch):
    old, new = library(scratch, CODE % "i", "gnu"), library(scratch, CODE % "a", "sysv")
    wheel(index, "torch-2.1.0-cp311-cp311-manylinux1_x86_64.whl", "2.1.0", old)
    wheel(index, "torch-2.10.0-cp311-cp311-manylinux_2_28_x86_64.whl", "2.10.0", old)
    with unittest.mock.patch("zipfile.ZIP64_LIMIT", 100):  # sizes, offsets and the end record as in a wheel of 5 GB
        wheel(index, "torch-2.10.0-3-cp311-cp311-manylinux_2_28_x86_64.whl", "2.10.0", new)
    with (index / "torch-2.10.0-3-cp311-cp311-manylinux_2_28_x86_64.whl").open("r+b") as file:
        file.seek(-6, os.SEEK_END)  # where the directory starts: zipfile says it in the old record too
        file.write(b"\xff" * 4)
    wheel(index, "torch-2.0.1-cp311-cp311-manylinux1_x86_64.whl", "2.0.1", old)     # too old
    wheel(index, "torch-2.1.0-cp310-cp310-manylinux1_x86_64.whl", "2.1.0", new)     # another tag
    broken = []
    for version, damage in (("2.2.0", bytes(20)), ("2.3.0", b"\xff" * 20), ("2.4.0", None)):
        broken.append(f"torch-{version}-cp311-cp311-manylinux1_x86_64.whl")
        method = zipfile.ZIP_STORED if damage == bytes(20) else zipfile.ZIP_DEFLATED  # then the checksum alone tells
        wheel(index, broken[-1], version, old if damage else b"no library", method)
        data = (index / broken[-1]).read_bytes()
        at = data.find(b"torch/lib/libc10.so") + (200 if damage == bytes(20) else len("torch/lib/libc10.so"))
        (index / broken[-1]).write_bytes(data[:at] + damage + data[at + 20:] if damage else data)
    return broken


def names_of(table, version):
    sys.path.insert(0, str(SOURCE / "tools"))
    from history_parts import check
    return {path: sorted(names) for path, names in check.table_names(table.read_bytes(), version, "x86_64").items()}


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        index = folder / "index"
        index.mkdir()
        broken = make_wheels(index, folder)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), lambda *a: Index(*a, directory=str(index)))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        os.environ.update(PIP_INDEX_URL=f"http://127.0.0.1:{server.server_port}/simple", PIP_CONFIG_FILE=os.devnull,
                          NO_PROXY="127.0.0.1")

        done = history(folder)
        assert done.returncode == 1, done.stderr  # three wheels could not be read, the others were
        assert done.stderr.count(": not read: ") == 3 and all(name in done.stderr for name in broken), done.stderr
        assert "2 builds" in done.stdout, done.stdout
        assert not any("2.0.1" in path or "cp310" in path for path in Index.asked), Index.asked
        assert not any("2.10.0-cp311" in path for path in Index.asked), "the rebuilt wheel alone is read"
        kept = ["torch_one", "torch_pointer"]
        assert names_of(folder / "torch.bin", "2.1.0") == {
            "torch/lib/libc10.so": sorted(kept + ["_ZN3c104cuda9SetDeviceEi"]), "torch/lib/libshm.so": ["torch_only"]}
        assert names_of(folder / "torch.bin", "2.10.0") == {
            "torch/lib/libc10.so": sorted(kept + ["_ZN3c104cuda9SetDeviceEa"]), "torch/lib/libshm.so": ["torch_only"]}

        before, first = len(Index.asked), (folder / "torch.bin").read_bytes()
        again = history(folder)
        assert all(path[1:] in broken for path in Index.asked[before:]), "what lies in the cache is not read again"
        assert again.returncode == 1 and (folder / "torch.bin").read_bytes() == first

        for name in broken:
            (index / name).unlink()
        assert history(folder).returncode == 0
        whole = index / "torch-2.10.0-3-cp311-cp311-manylinux_2_28_x86_64.whl"
        assert history(folder, "check", whole).returncode == 0
        shutil.copy(index / "torch-2.1.0-cp311-cp311-manylinux1_x86_64.whl", folder / whole.name)
        differs = history(folder, "check", folder / whole.name)
        assert differs.returncode == 1 and "1 only in the wheel, 1 only in the table" in differs.stdout, differs.stdout


if __name__ == "__main__":
    main()
