"""Whatever is given, the answer is one clear line and the exit code of the contract."""

import json
import os
import pathlib
import subprocess
import tempfile
import zipfile

from support import PROGRAM, errors, main, one_line, report, run, stub, validate

SGL = stub("sgl_kernel-0.3.21")
FITTING = stub("torch-2.9.1")
WORK = pathlib.Path(tempfile.mkdtemp())


def made(name, content):
    path = WORK / name
    path.write_bytes(content)
    return path


def test_a_missing_file_is_wrong_usage():
    done = run("check", WORK / "nothing.whl")
    assert done.returncode == 2 and one_line(done.stderr), done.stderr


def test_an_unknown_option_is_wrong_usage():
    assert run("check", "--no-such-option").returncode == 2
    assert run("frobnicate").returncode == 2
    assert run().returncode == 2


def test_text_in_place_of_a_wheel_is_an_unanswered_question():
    code, parsed = report(made("a-1-py3-none-any.whl", b"hello\n" * 10))
    assert code == 3 and not parsed["complete"]
    assert "not a zip archive" in parsed["problems"][0]["reason"]


def test_every_cut_of_a_wheel_gives_a_problem_and_no_crash():
    whole = pathlib.Path(SGL).read_bytes()
    for size in list(range(0, 200, 7)) + list(range(200, len(whole), len(whole) // 40)):
        code, parsed = report(made("cut-1-py3-none-any.whl", whole[:size]))
        assert code == 3 and parsed["problems"], (size, code)


def test_a_damaged_member_is_told_and_the_others_are_judged():
    whole = bytearray(pathlib.Path(SGL).read_bytes())
    with zipfile.ZipFile(SGL) as archive:
        info = archive.getinfo("sgl_kernel/spatial_ops.abi3.so")
    at = info.header_offset + 30 + len(info.filename) + info.compress_size // 2
    whole[at] ^= 0xFF
    code, parsed = report(made("bad-1-cp310-abi3-linux_x86_64.whl", whole), "--with", FITTING)
    assert code in (1, 3), code
    told = json.dumps(parsed["problems"]) + json.dumps(parsed["findings"])
    assert "spatial_ops" in told
    assert len([root for root in parsed["roots"] if root["status"] == "loads"]) >= 11


def test_files_that_are_no_objects_are_named_for_what_they_are():
    kinds = {
        "script.so": (b"/* GNU ld script */\nINPUT(libx.so.1)\n", "a linker script"),
        "lfs.so": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS pointer"),
        "page.so": (b"<!DOCTYPE html><html></html>", "HTML page"),
        "lib.so.1": (b"!<arch>\n", "static archive"),
        "none.so": (b"", "empty"),
        "old.so": (b"\x7fELF\x01\x01\x01" + b"\0" * 60, "32-bit"),
        "big.so": (b"\x7fELF\x02\x02\x01" + b"\0" * 60, "big-endian"),
    }
    path = WORK / "kinds-1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, (content, _) in kinds.items():
            archive.writestr("kinds/" + name, content)
    code, parsed = report(path)
    titles = {obj: finding["title"] for finding in parsed["findings"] for obj in finding["objects"]}
    for name, (_, words) in kinds.items():
        assert words in titles["kinds/" + name], (name, titles)
    # That such files are there is no error; that the archive is no wheel is one.
    assert {finding["id"] for finding in errors(parsed)} == {"META-001"}, parsed["findings"]


def test_no_control_byte_of_a_name_reaches_the_output():
    path = WORK / "names-1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x/\x1b[31mred\u202e\x07.so", b"not an object \x00\x01")
    for arguments in ((), ("--format", "json"), ("-v",)):
        done = subprocess.run([PROGRAM, "check", path, *arguments], capture_output=True, timeout=60)
        out = done.stdout + done.stderr
        assert b"\x1b" not in out and b"\x07" not in out and "\u202e".encode() not in out
        assert b"red" in out


# C0, DEL, C1, line and paragraph separators, bidirectional and other invisible characters. NUL ends no
# name here: zipfile cuts names at it.
UNSEEN = [chr(c) for c in (*range(1, 0x20), *range(0x7F, 0xA0), 0xAD, 0x61C, 0x200B, 0x200E, 0x200F, 0x2028, 0x2029,
                           *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFEFF, 0xE0001)]


def none_raw(done):
    out = done.stdout + done.stderr
    text = out.decode()  # all of it is UTF-8
    assert not any(c in text for c in UNSEEN if c != "\n"), out
    return text


def test_names_with_every_unseen_character_stay_apart_in_text_and_json():
    shown = {"text": set(), "json": set()}
    names = [f"a{c}b" for c in UNSEEN] + ["ab", "a\\x1bb", "a\\u{202e}b"]
    for name in names:
        path = WORK / "unseen-1-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(zipfile.ZipInfo(f"x/{name}.so"), b"not an object")
        for form, known in shown.items():
            done = subprocess.run([PROGRAM, "check", path, "-v", "--format", form], capture_output=True, timeout=60)
            none_raw(done)
            known.add(done.stdout)
    assert {form: len(known) for form, known in shown.items()} == dict.fromkeys(shown, len(names))


def test_no_unseen_character_of_any_field_reaches_the_output():
    dirty = "".join(c for c in UNSEEN if c not in "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")
    path = WORK / f"field{dirty}-1-py3-none-any.whl"
    info = f"field{dirty}-1.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: n{dirty}\nVersion: 1{dirty}\n"
                                             f"Requires-Python: >={dirty}\nRequires-Dist: r{dirty}>=1\n")
        archive.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nTag: t{dirty}-a-b\n")
        archive.writestr(f"{info}/entry_points.txt", f"[console_scripts]\ne{dirty} = {dirty}\n")
        archive.writestr(f"{info}/RECORD", f"listed{dirty},,\n")
    for arguments in (("check", "-v"), ("check", "--format", "json"), ("inspect",), ("inspect", "--format", "json")):
        text = none_raw(subprocess.run([PROGRAM, *arguments, path], capture_output=True, timeout=60))
        assert "\\x1b" in text or "\\\\x1b" in text, text


def test_a_fifo_and_a_device_are_not_opened():
    fifo = WORK / "fifo-1-py3-none-any.whl"
    os.mkfifo(fifo)
    assert run("check", fifo).returncode == 3
    assert run("check", "/dev/zero").returncode == 3


def test_an_output_that_cannot_be_written_is_told():
    for arguments in (("-o", "/dev/full"), ("-o", WORK / "no" / "folder")):
        done = run("check", SGL, "--with", FITTING, *arguments)
        assert done.returncode == 3 and "could not be" in done.stderr, done.stderr
    with open("/dev/full", "w") as full:
        done = subprocess.run([PROGRAM, "rules"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 3, done.stderr


def test_a_closed_pipe_is_no_crash():
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([PROGRAM, "check", SGL, "--with", FITTING], stdout=write,
                          stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert done.returncode == 3, (done.returncode, done.stderr)


def test_json_mode_has_an_error_envelope():
    done = run("check", WORK / "nothing.whl", "--format", "json")
    parsed = json.loads(done.stdout)
    validate(parsed, "report")
    assert parsed["exit_code"] == 2


def zipped(*names):
    path = WORK / "in.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "Name: a\n")
    return path.read_bytes()


def test_source_archives_and_conda_packages_are_told_apart_by_name_or_content():
    others = {"a-1.tar.gz": b"\x1f\x8b", "a-1-0.conda": zipped("metadata.json"), "a-1.zip": zipped("a-1/PKG-INFO"),
              "gzip": b"\x1f\x8b\x08", "bzip2": b"BZh9", "xz": b"\xfd7zXZ\0", "zstd": b"\x28\xb5\x2f\xfd",
              "tar": bytes(257) + b"ustar" + bytes(250)}
    for name, content in others.items():
        done = run("check", made(name, content))
        assert done.returncode == 2 and "not supported" in done.stderr and one_line(done.stderr), (name, done)
    assert run("check", made("b-1.zip", zipped("b/PKG-INFO", "b-1.dist-info/METADATA"))).returncode != 2


def test_a_folder_of_wheels_stands_for_its_wheels_and_two_builds_of_one_are_a_choice_to_make():
    folder = WORK / "wheels"
    folder.mkdir()
    sgl, fitting, other = map(pathlib.Path, (SGL, FITTING, stub("torch-2.10.0")))
    for wheel in (sgl, fitting):
        (folder / wheel.name).symlink_to(wheel)
    code, parsed = report(folder, "--import", "torch")
    assert code == 0 and [each["kind"] for each in parsed["inputs"]] == ["stub", "stub"], parsed["inputs"]
    code, beside = report(SGL, "--with", folder)
    assert beside["inputs"][2]["role"] == "provider"
    (folder / other.name).symlink_to(other)
    done = run("check", folder)
    assert done.returncode == 2 and other.name in done.stderr and fitting.name in done.stderr, done


def test_a_link_out_of_a_folder_is_not_followed():
    folder = WORK / "tree"
    (folder / "p").mkdir(parents=True)
    (folder / "p" / "m.so").symlink_to("/usr/lib/x86_64-linux-gnu/libc.so.6")
    code, parsed = report(folder)
    assert code == 3 and "leads out" in parsed["problems"][0]["reason"], parsed["problems"]


def test_options_may_stand_before_the_target():
    code, parsed = report("--with", FITTING, "--import", "torch", SGL)
    assert code == 0 and [each["role"] for each in parsed["inputs"]] == ["target", "provider"]


def test_a_question_that_cannot_be_asked_is_wrong_usage():
    assert run("check", SGL, "--python", "9").returncode == 2
    assert run("check", SGL, "--import", "torch").returncode == 2


def test_a_wheel_is_known_by_its_bytes():
    renamed = made("renamed", pathlib.Path(SGL).read_bytes())
    assert report(renamed, "--with", FITTING)[0] == 0


def test_a_single_file_that_is_no_object_is_an_error():
    assert report(made("notes.txt", b"hello\n"))[0] == 1


def test_a_link_to_a_folder_inside_gives_its_files_a_second_name():
    folder = WORK / "linked"
    (folder / "real").mkdir(parents=True)
    (folder / "real" / "m.so").write_bytes(b"text\n")
    (folder / "lib").symlink_to("real")
    (folder / "real" / "loop").symlink_to("..")
    _, parsed = report(folder)
    objects = [name for finding in parsed["findings"] for name in finding["objects"]]
    assert sorted(objects) == ["lib/m.so", "real/m.so"], objects


def test_documents_of_the_program():
    assert "SYM-001" in run("rules").stdout
    assert "Fix:" in run("rules", "SYM-001").stdout
    assert run("rules", "NO-000").returncode == 2
    for name in run("schema").stdout.split():
        json.loads(run("schema", name).stdout)
    assert run("schema", "none").returncode == 2
    assert run("--version").stdout.startswith("wheelvet ")
    assert "Examples" in run("check", "--help").stdout


main(globals())
