"""Inputs that change while they are read, that are no files, that are huge; outputs that cannot be written; signals.
Each gets an answer: an exit code of the contract and one clear line, never a crash, never a file left behind.

unsteady.py WHEELVET_SHARED: the program linked to the system's glibc, which can be preloaded."""

import json
import os
import pathlib
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from raw_zip import Entry, archive
from support import PROGRAM, SOURCE, main, one_line, run, skip, stub

sys.path.insert(0, str(SOURCE / "tests" / "malformed"))
import elf_file  # noqa: E402

WORK = pathlib.Path(tempfile.mkdtemp())
MEDDLE = WORK / "meddle.so"
SHARED = sys.argv[1]
SGL = stub("sgl_kernel-0.3.21")
skipped = []


def without(test, why):
    skipped.append(f"SKIPPED: e2e_unsteady: {test}: {why}")


def limited():
    """No answer needs more, whatever the input claims to be."""
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))


def asked(*arguments, environment=None, program=PROGRAM, **options):
    options.setdefault("cwd", WORK)  # no configuration is read
    return subprocess.run([program, *map(str, arguments)], capture_output=True, timeout=60,
                          env={**os.environ, **(environment or {})}, **options)


def tree(path):
    (path / "pkg").mkdir(parents=True)
    (path / "pkg" / "libcase.so").write_bytes(elf_file.case().bytes)
    (path / "pkg" / "libprov.so").write_bytes(elf_file.provider().bytes)
    return path


def files_below(*folders):
    return sorted(str(each) for folder in folders for each in pathlib.Path(folder).rglob("*"))


def meddled(what, number, path, *arguments):
    return asked(*arguments, program=SHARED, environment={"LD_PRELOAD": str(MEDDLE), "MEDDLE_AT": str(number), "MEDDLE_DO": what,
                                          "MEDDLE_PATH": str(path)})


def test_a_file_that_changes_while_it_is_read_gives_an_answer():
    told = 0
    for what in ("truncate", "empty", "overwrite", "replace", "unlink"):
        for number in range(1, 13):
            wheel = WORK / "changing-1-cp310-abi3-linux_x86_64.whl"
            shutil.copy(SGL, wheel)
            done = meddled(what, number, wheel, "check", wheel, "--format", "json")
            if what == "unlink" and done.returncode == 2:
                continue  # gone before it was opened for good
            assert done.returncode in (0, 1, 3), (what, number, done)
            problems = json.loads(done.stdout)["problems"]
            assert problems or what in ("replace", "unlink", "overwrite") or number > 4, (what, number, done)
            told += any("ended while it was read" in each["reason"] for each in problems)
            folder = WORK / "changing"
            shutil.rmtree(folder, ignore_errors=True)
            path = tree(folder) / "pkg" / "libcase.so"
            done = meddled(what, number, path, "check", folder, "--format", "json")
            assert done.returncode in (0, 1, 3), (what, number, done)
    assert told > 10, told


def test_what_was_opened_is_judged_though_its_name_is_gone():
    for what in ("replace", "unlink"):
        folder = WORK / "gone"
        shutil.rmtree(folder, ignore_errors=True)
        wheel = WORK / "gone-1-cp310-abi3-linux_x86_64.whl"
        shutil.copy(SGL, wheel)
        steady = asked("check", wheel, "--format", "json")
        done = meddled(what, 2, wheel, "check", wheel, "--format", "json")
        assert (done.returncode, done.stdout) == (steady.returncode, steady.stdout), what


def test_signals_end_the_work_with_their_own_code_and_leave_nothing():
    left = WORK / "left"
    for name, code in (("SIGINT", 130), ("SIGTERM", 143)):
        for command in (("check", SGL, "-o", left / "report"), ("stub", SGL, "-o", left / "out.whl"),
                        ("check", SGL, "--hash"), ("diff", SGL, SGL), ("compat", SGL)):
            shutil.rmtree(left, ignore_errors=True)
            (left / "tmp").mkdir(parents=True)
            for number in (1, 2, 9):
                done = asked(*command, cwd=left, program=SHARED, environment={
                    "LD_PRELOAD": str(MEDDLE), "MEDDLE_AT": str(number), "MEDDLE_DO": name, "TMPDIR": str(left / "tmp"),
                    "XDG_CACHE_HOME": str(left / "tmp")})
                status = 128 - done.returncode if done.returncode < 0 else done.returncode
                assert status == code, (name, command, number, done)
                assert files_below(left) == [str(left / "tmp")], (command, number, files_below(left))


def test_what_is_no_file_is_told():
    place = WORK / "odd"
    place.mkdir()
    os.mkfifo(place / "fifo.whl")
    (place / "folder.whl").mkdir()
    (place / "loop.whl").symlink_to("loop.whl")
    (place / "dead.whl").symlink_to("nothing")
    (place / "a").symlink_to("b")
    (place / "b").symlink_to("a")
    server = socket.socket(socket.AF_UNIX)
    server.bind(os.path.relpath(place / "socket.whl"))
    for path in ("fifo.whl", "socket.whl", "/dev/zero", "/dev/full", "/dev/null", "/dev/tty", "loop.whl", "dead.whl", "a/x.whl"):
        done = asked("check", place / path, preexec_fn=limited)
        told = done.stderr + b"".join(line for line in done.stdout.splitlines() if b"problem" in line)
        assert done.returncode in (2, 3) and one_line(told.decode()), (path, done)
    assert asked("check", place / "folder.whl").returncode in (0, 3)
    server.close()


def test_what_is_no_file_in_a_folder_is_told_and_the_rest_is_judged():
    folder = tree(WORK / "odd_tree")
    os.mkfifo(folder / "pkg" / "fifo.so")
    (folder / "pkg" / "loop.so").symlink_to("loop.so")
    (folder / "pkg" / "self").symlink_to("..")
    (folder / "pkg" / "device.so").symlink_to("/dev/zero")
    (folder / "pkg" / "folder.so").mkdir()
    done = asked("check", folder, "--format", "json", preexec_fn=limited)
    report = json.loads(done.stdout)
    assert done.returncode == 3, done
    assert {root["path"]: root["status"] for root in report["roots"]}["pkg/libcase.so"] == "loads", report["roots"]
    told = json.dumps(report["problems"])
    assert all(name in told for name in ("fifo.so", "loop.so", "device.so")), told


def test_a_file_of_a_terabyte_of_nothing_is_answered_at_once():
    wheel, library = WORK / "huge-1-py3-none-any.whl", WORK / "huge" / "libcase.so"
    library.parent.mkdir()
    for path, content in ((wheel, b""), (library, bytes(elf_file.case().bytes))):
        path.write_bytes(content)
        os.truncate(path, 1 << 40)
    for arguments in (("check", wheel), ("check", wheel, "--hash"), ("check", library), ("check", library.parent),
                      ("inspect", library, "--device"), ("stub", wheel, "-o", WORK / "huge.out")):
        start = time.monotonic()
        done = asked(*arguments, preexec_fn=limited)
        assert done.returncode in (0, 1, 3) and time.monotonic() - start < 10, (arguments, done)
    # Tables at the very end, and segments that claim all of it.
    far = elf_file.case()
    far.set("data.p_filesz", (1 << 40) - elf_file.DATA_AT)
    far.set("data.p_memsz", (1 << 40) - elf_file.DATA_AT)
    for field in ("DT_STRTAB.d_val", "DT_GNU_HASH.d_val", "DT_VERSYM.d_val", "DT_VERNEED.d_val", "DT_RELA.d_val"):
        changed = elf_file.case()
        for each in ("data.p_filesz", "data.p_memsz"):
            changed.set(each, far.get(each))
        changed.set(field, elf_file.DATA_ADDRESS + (1 << 39))
        library.write_bytes(changed.bytes)
        os.truncate(library, 1 << 40)
        start = time.monotonic()
        done = asked("check", library.parent, preexec_fn=limited)
        assert done.returncode in (0, 1, 3) and time.monotonic() - start < 10, (field, done)
    far.set("DT_STRSZ.d_val", 1 << 39)
    far.set("DT_STRTAB.d_val", elf_file.DATA_ADDRESS + 0x500)
    library.write_bytes(far.bytes)
    os.truncate(library, 1 << 40)
    done = asked("check", library.parent, preexec_fn=limited)
    assert done.returncode in (1, 3), done


def test_names_of_any_byte():
    folder = WORK / "bytes"
    (folder / "pkg").mkdir(parents=True)
    for byte in range(1, 256):
        if byte != ord("/"):
            with open(os.fsencode(folder) + b"/pkg/m" + bytes([byte]) + b".so", "wb") as file:
                file.write(elf_file.library(runpath=None).bytes)
    done = asked("check", folder, "--format", "json")
    report = json.loads(done.stdout)
    names = {root["path"] for root in report["roots"]}
    assert done.returncode == 0 and len(names) == 254, (done.returncode, len(names))
    for name in (b"m\xff.so", b"m\n.so", b"m'.so", b"m .so"):
        done = asked("check", os.fsdecode(os.fsencode(folder) + b"/pkg/" + name))
        assert done.returncode == 0, (name, done)


def test_a_tree_of_ten_thousand_levels_is_answered():
    top = WORK / "deep"
    tree(top)
    here = os.open(top, os.O_RDONLY)
    for _ in range(10_000):
        os.mkdir("d", dir_fd=here)
        down = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = down
    with os.fdopen(os.open("libdeep.so", os.O_CREAT | os.O_WRONLY, dir_fd=here), "wb") as file:
        file.write(elf_file.provider().bytes)
    os.close(here)
    start = time.monotonic()
    done = asked("check", top, "--format", "json", preexec_fn=limited)
    took = time.monotonic() - start
    report = json.loads(done.stdout)
    assert done.returncode == 3 and report["problems"] and took < 20, (done.returncode, took, report["problems"][:2])
    assert {root["path"]: root["status"] for root in report["roots"]}["pkg/libcase.so"] == "loads"
    subprocess.run(["rm", "-rf", top], check=True)


def test_a_hundred_thousand_members_or_files_take_seconds():
    wheel = WORK / "many-1-py3-none-any.whl"
    wheel.write_bytes(archive([Entry(f"m/{i % 300}/{i}.txt", b"", 0) for i in range(100_000)], wide=True))
    folder = tree(WORK / "many")
    for i in range(300):
        (folder / "m" / str(i)).mkdir(parents=True)
    for i in range(100_000):
        os.close(os.open(folder / "m" / str(i % 300) / f"{i}.txt", os.O_CREAT | os.O_WRONLY))
    for path in (wheel, folder):
        start = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = asked("check", path, "--format", "json", preexec_fn=limited)
        end = resource.getrusage(resource.RUSAGE_CHILDREN)
        took = end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime
        assert done.returncode in (0, 1, 3) and took < 10, (path, done.returncode, took, done.stderr[-300:])
        print(f"       {path.name}: {took:.2f} s of the processor")
    shutil.rmtree(folder)


def test_a_file_that_may_not_be_read_is_told():
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        return without("permission denied", "needs root and setpriv")
    place = pathlib.Path(tempfile.mkdtemp(dir="/tmp"))
    place.chmod(0o755)
    folder = tree(place / "tree")
    program = place / "wheelvet"
    shutil.copy(PROGRAM, program)
    (folder / "pkg" / "libcase.so").chmod(0)
    (folder / "locked").mkdir(mode=0)
    wheel = place / "locked-1-py3-none-any.whl"
    shutil.copy(SGL, wheel)
    wheel.chmod(0)
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", program]
    for arguments, words in (([wheel], "Permission denied"), ([folder], "Permission denied")):
        done = subprocess.run([*nobody, "check", *arguments], capture_output=True, text=True, timeout=60)
        assert done.returncode == 3 and words in done.stdout + done.stderr, done
    done = subprocess.run([*nobody, "check", folder, "-o", folder / "out"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 3 and "could not be" in done.stderr, done
    shutil.rmtree(place)


COMMANDS = [("check", SGL), ("check", SGL, "--format", "json"), ("inspect", SGL), ("diff", SGL, SGL), ("compat", SGL),
            ("explain", "undefined symbol: x"), ("rules",), ("schema",), ("schema", "report"), ("manual",), ("doctor",),
            ("completion", "bash"), ("config",), ("--help",), ("--version",), ("check", "--help")]


def test_an_output_without_room_is_told():
    for command in COMMANDS:
        with open("/dev/full", "w") as full:
            done = subprocess.run([PROGRAM, *command], stdout=full, stderr=subprocess.PIPE, timeout=60)
        assert done.returncode == 3 and b"could not be written" in done.stderr, (command, done)


def test_a_closed_output_is_told_and_a_closed_pipe_is_no_crash():
    for command in COMMANDS:
        line = " ".join(f"'{each}'" for each in (PROGRAM, *command))
        done = subprocess.run(["sh", "-c", line + " >&-"], stderr=subprocess.PIPE, timeout=60)
        assert done.returncode == 3 and b"could not be written" in done.stderr, (command, done)
        done = subprocess.run(["sh", "-c", line + " 2>&- <&-"], stdout=subprocess.PIPE, timeout=60)
        assert done.returncode in (0, 1, 3) and done.stdout, (command, done)
        read, write = os.pipe()
        os.close(read)
        done = subprocess.run([PROGRAM, *command], stdout=write, stderr=subprocess.PIPE, timeout=60)
        os.close(write)
        assert done.returncode == 3, (command, done)


def test_a_file_system_that_is_full_is_told_and_no_half_file_stays():
    place = WORK / "full"
    place.mkdir()
    large = WORK / "large-1-py3-none-any.whl"
    large.write_bytes(archive([Entry("pkg/m.so", elf_file.library().bytes),
                               Entry("large-1.dist-info/METADATA", random.randbytes(1 << 16))]))
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", place], capture_output=True).returncode:
        return without("a full file system", "no tmpfs may be mounted")
    try:
        for command in (("check", SGL, "--format", "json", "-v", "-o", place / "out"), ("stub", large, "-o", place / "out.whl"),
                        ("check", SGL, "--format", f"html={place / 'out.html'}")):
            done = asked(*command)
            assert done.returncode == 3 and b"could not be written" in done.stderr, (command, done)
            assert files_below(place) == [], (command, files_below(place))
    finally:
        subprocess.run(["umount", place], check=True)


if not shutil.which("cc"):
    skip("no C compiler")
subprocess.run(["cc", "-shared", "-fPIC", "-o", MEDDLE, SOURCE / "tests" / "support" / "meddle.c", "-ldl"], check=True)
try:
    main(globals())
finally:
    print("\n".join(skipped))
    shutil.rmtree(WORK, ignore_errors=True)
