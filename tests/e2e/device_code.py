"""Device code of wheels: what is listed, what is judged for which GPU, and that a stub gives the same answer."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import zipfile

from support import SOURCE, answer, main, report, run, skip

WORK = pathlib.Path(tempfile.mkdtemp())
FIXTURES = SOURCE / "fixtures" / "device_code"
COMPILER = shutil.which("cc") or shutil.which("gcc") or skip("no C compiler")


def library(name, *fatbins, section=".nv_fatbin", strip=False):
    """A shared object that holds these containers; bytes of it."""
    source = f'.section {section},"a"\n'
    for fatbin in fatbins:
        source += f'.balign 8\n.incbin "{FIXTURES / fatbin}"\n'
    path = WORK / name
    subprocess.run([COMPILER, "-shared", "-nostdlib", "-Wl,-soname," + name, "-x", "assembler", "-", "-o", path],
                   input=source, text=True, check=True)
    data = path.read_bytes()
    if strip:  # no section headers: e_shoff, e_shnum, e_shstrndx
        data = data[:40] + bytes(8) + data[48:60] + bytes(4) + data[64:]
    return data


def wheel(package, files):
    path = WORK / f"{package}-1-py3-none-manylinux_2_28_x86_64.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
        archive.writestr(f"{package}-1.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n")
        archive.writestr(f"{package}-1.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-manylinux_2_28_x86_64\n")
        rows = [name for name in archive.namelist()] + [f"{package}-1.dist-info/RECORD"]
        archive.writestr(f"{package}-1.dist-info/RECORD", "".join(f"{row},,\n" for row in rows))
    return path


def inspected(path, *options):
    return answer("inspect", "inspect", path, "--device", *options)[1]


def listed(file):
    """[images of each container], as expected.json spells them."""
    out = []
    for container in file["device"]["containers"]:
        out.append(sorted(image["arch"] + (" to be linked" if image["relocatable"] else "")
                          + (" debug" if image["debug"] else "") for image in container["images"]))
    return out


def gpu_findings(parsed):
    return {(finding["id"], tuple(finding["objects"])) for finding in parsed["findings"] if finding["id"].startswith("GPU")}


def test_what_nvcc_was_asked_for_is_listed_by_itself_and_in_a_library_and_in_a_wheel():
    for name, want in json.loads((FIXTURES / "expected.json").read_text()).items():
        (file,) = inspected(FIXTURES / name, "--kernels")["files"]
        assert listed(file) == [want["images"]], (name, listed(file))
        assert sorted(file["device"]["containers"][0]["kernels"]) == want["kernels"], name
        if not name.endswith(".fatbin"):
            continue
        for strip in (False, True):
            made = wheel("a", {"a/lib.so": library("lib.so", name, section=".ldata", strip=strip)})
            (file,) = inspected(made, "--kernels")["files"]
            assert listed(file) == [want["images"]], (name, listed(file))


def test_device_code_in_files_of_its_own_is_listed():
    made = wheel("a", {"a/lib.so": library("lib.so"), "a/k/one.cubin": (FIXTURES / "sm_90a.cubin").read_bytes(),
                       "a/k/two.fatbin": (FIXTURES / "two.fatbin").read_bytes(),
                       "a/k/three.ptx": (FIXTURES / "sm_90a.ptx").read_bytes()})
    files = {file["path"]: listed(file) for file in inspected(made)["files"]}
    assert files["a/k/one.cubin"] == [["sm_90a"]]
    assert files["a/k/two.fatbin"] == [["sm_80", "sm_90a"]]
    assert files["a/k/three.ptx"] == [["compute_90a"]]
    assert files["a/lib.so"] == []


def test_packed_images_say_how():
    kinds = {}
    for mode in ("none", "speed", "balance", "size"):
        (file,) = inspected(FIXTURES / f"packed_{mode}.fatbin")["files"]
        kinds[mode] = {image["packing"] for image in file["device"]["containers"][0]["images"]}
    assert kinds == {"none": {"none"}, "speed": {"lz4"}, "balance": {"zstd"}, "size": {"zstd"}}, kinds


def test_what_is_not_asked_is_said_and_not_judged():
    code, parsed = report(wheel("a", {"a/lib.so": library("lib.so", "sm_90a.fatbin")}))
    assert code == 0 and parsed["gpus"] == []
    assert "device code: not asked (--gpu)" in parsed["scope"]


def test_a_library_without_code_for_the_gpu_fails_and_one_with_ptx_is_compiled():
    made = wheel("a", {"a/lib.so": library("lib.so", "two.fatbin")})
    code, parsed = report(made, "--gpu", "sm_120")
    assert code == 1 and gpu_findings(parsed) == {("GPU-001", ("a/lib.so",))}, parsed["findings"]
    code, parsed = report(made, "--gpu", "sm_90", "--gpu", "8.6")
    assert code == 0 and gpu_findings(parsed) == set()
    assert [gpu["libraries"][0]["containers"]["own"] for gpu in parsed["gpus"]] == [1, 0]
    assert parsed["gpus"][1]["libraries"][0]["containers"]["older"] == 1
    made = wheel("a", {"a/lib.so": library("lib.so", "ptx_only.fatbin")})
    code, parsed = report(made, "--gpu", "RTX PRO 6000 Blackwell")
    assert code == 0 and gpu_findings(parsed) == {("GPU-004", ("a/lib.so",))}
    assert parsed["gpus"][0]["driver"]["lowest"] == "580.65.06"
    code, parsed = report(made, "--gpu", "sm_120", "--driver", "575.57.08")
    assert code == 1 and gpu_findings(parsed) == {("GPU-005", ("a/lib.so",))}
    code, parsed = report(made, "--gpu", "sm_90", "--driver", "580.95.05")
    assert code == 0
    code, parsed = report(made, "--gpu", "sm_120", "--driver", "550.54.14")
    assert ("GPU-006", ()) in gpu_findings(parsed)


def test_one_container_does_not_vouch_for_another_with_other_kernels():
    # The same kernels: whichever container has them will do.
    made = wheel("a", {"a/lib.so": library("lib.so", "sm_120.fatbin", "two.fatbin")})
    code, parsed = report(made, "--gpu", "sm_120")
    assert code == 0 and gpu_findings(parsed) == set()
    assert parsed["gpus"][0]["libraries"][0]["containers"]["elsewhere"] == 1


def test_an_alternative_for_the_gpu_excuses_the_other():
    made = wheel("a", {"a/sm90/ops.so": library("ops.so", "sm_90a.fatbin"),
                       "a/sm120/ops.so": library("ops.so", "sm_120a.fatbin")})
    code, parsed = report(made, "--gpu", "sm_120")
    assert code == 0, parsed["findings"]
    code, parsed = report(made, "--gpu", "sm_80")
    assert code == 1


def test_an_alternative_that_the_package_does_not_use_on_the_gpu_excuses_nothing():
    made = wheel("sgl_kernel", {"sgl_kernel/sm90/common_ops.so": library("common_ops.so", "sm_90a.fatbin"),
                                "sgl_kernel/sm100/common_ops.so": library("common_ops.so", "sm_120a.fatbin")})
    code, parsed = report(made, "--gpu", "sm_120")
    assert code == 0, parsed["findings"]
    code, parsed = report(made, "--gpu", "sm_121")
    assert code == 1 and ("GPU-001", ("sgl_kernel/sm100/common_ops.so",)) in gpu_findings(parsed), parsed["findings"]


def test_code_to_be_linked_is_not_judged():
    made = wheel("a", {"a/lib.so": library("lib.so", "relocatable.fatbin", section="__nv_relfatbin")})
    code, parsed = report(made, "--gpu", "sm_120")
    assert code == 0 and gpu_findings(parsed) == set()
    assert parsed["gpus"][0]["libraries"][0]["containers"]["unjudged"] == 1


def test_a_name_that_promises_an_architecture_is_compared():
    made = wheel("a", {"a/sm120/lib.so": library("lib.so", "sm_80.fatbin"),
                       "a/sm90/lib2.so": library("lib2.so", "sm_90a.fatbin")})
    code, parsed = report(made, "--gpu", "sm_80")
    assert ("GPU-007", ("a/sm90/lib2.so",)) not in gpu_findings(parsed)
    made = wheel("a", {"a/sm120/lib.so": library("lib.so", "sm_90a.fatbin"), "a/x.so": library("x.so", "sm_80.fatbin")})
    code, parsed = report(made, "--gpu", "sm_80")
    assert ("GPU-007", ("a/sm120/lib.so",)) in gpu_findings(parsed)


def test_a_broken_container_is_a_problem_and_the_rest_is_judged():
    bad = bytearray((FIXTURES / "sm_80.fatbin").read_bytes())
    bad[24:32] = b"\xf8" * 8
    (WORK / "bad.fatbin").write_bytes(bad)
    made = wheel("a", {"a/lib.so": library("lib.so", WORK / "bad.fatbin", "sm_90.fatbin")})
    code, parsed = report(made, "--gpu", "sm_90")
    assert code == 3 and len(parsed["problems"]) == 1, parsed["problems"]
    assert parsed["problems"][0]["field"] == "fatbin entry" and parsed["problems"][0]["offset"]
    assert parsed["gpus"][0]["libraries"][0]["containers"]["own"] == 1


def test_a_stub_gives_the_same_answer():
    made = wheel("a", {"a/lib.so": library("lib.so", "two.fatbin", "sm_120.fatbin", "relocatable.fatbin"),
                       "a/other.so": library("other.so", "ptx_only.fatbin"),
                       "a/k.cubin": (FIXTURES / "sm_90a.cubin").read_bytes()})
    out = WORK / "stubs" / made.name
    out.parent.mkdir(exist_ok=True)
    assert run("stub", made, "-o", out).returncode == 0
    for gpu in ("sm_80", "sm_90", "sm_120"):
        code, parsed = report(made, "--gpu", gpu)
        stub_code, stub_parsed = report(out, "--gpu", gpu)
        assert code == stub_code and parsed["gpus"] == stub_parsed["gpus"], gpu
        assert gpu_findings(parsed) == gpu_findings(stub_parsed)


def test_wrong_gpus_and_drivers_are_wrong_usage():
    made = wheel("a", {"a/lib.so": library("lib.so", "two.fatbin")})
    for arguments in (["--gpu", "sm_90a"], ["--gpu", "Voodoo 2"], ["--gpu", "sm_90", "--driver", "new"],
                      ["--driver", "new"]):
        assert run("check", made, *arguments).returncode == 2, arguments


main(globals())
