"""`doctor` on roots that are made here: each fault is found, a sound root has none, and the corrected files settle it."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib

from support import SOURCE, main, run, skip, stub, validate
from sysroot_made import cache

sys.path.insert(0, str(SOURCE / "tests" / "support"))
from host_root import HostRoot  # noqa: E402

FIXTURES = pathlib.Path(os.environ["WHEELVET_ELF_FIXTURES"])


def doctor(root, *arguments):
    done = run("doctor", "--sysroot", root.path, *arguments, "--format", "json")
    assert done.stdout, done.stderr
    parsed = json.loads(done.stdout)
    validate(parsed, "doctor")
    return done.returncode, parsed


def found(parsed, notes=False):
    """Ids of the findings, without notes."""
    return sorted(each["id"] for each in parsed["findings"] if notes or each["severity"] != "note")


def one(parsed, name):
    (finding,) = [each for each in parsed["findings"] if each["id"] == name]
    return finding


def text_of(finding):
    return "\n".join([finding["title"], *finding["evidence"], finding["cause"], finding["fix"]["text"]])


def sound():
    root = HostRoot()
    root.toolkit("13.0")
    root.link("/usr/local/cuda", "cuda-13.0")
    root.file("/etc/environment", "CUDA_HOME=/usr/local/cuda-13.0\nCUDA_PATH=/usr/local/cuda-13.0\n"
                                  "PATH=/usr/local/cuda/bin:/usr/bin:/bin\n")
    root.env = root.environment(torch="2.11.0+cu130", cuda="13.0")
    return root


# --- a sound root, an empty one ---

def test_a_sound_root_has_no_finding():
    root = sound()
    code, parsed = doctor(root, "--env", root.env)
    assert (code, found(parsed)) == (0, []), parsed["findings"]
    (toolkit,) = parsed["toolkits"]
    assert toolkit["release"] == "13.0" and toolkit["nvcc"] == "13.0"
    assert any("torch.utils.cpp_extension by CUDA_HOME" in each for each in toolkit["picked_by"])


def test_a_root_without_cuda_and_gpu_is_told_in_notes():
    root = HostRoot()
    code, parsed = doctor(root)
    assert (code, found(parsed)) == (0, []), parsed["findings"]
    assert {"TKT-011", "DRV-001"} <= set(found(parsed, notes=True))


# --- toolkits ---

def test_a_variable_that_names_no_toolkit_is_an_error():
    root = sound()
    root.file("/etc/environment", "CUDA_HOME=/usr/local/cuda-12.4\n")
    code, parsed = doctor(root, "--env", root.env)
    assert code == 1 and "TKT-001" in found(parsed)
    assert "/etc/environment:1" in text_of(one(parsed, "TKT-001"))


def test_another_major_release_than_torchs_is_an_error_where_a_variable_picks_it():
    root = sound()
    root.toolkit("12.8")
    root.file("/etc/environment", "CUDA_HOME=/usr/local/cuda-12.8\nCUDA_PATH=/usr/local/cuda-12.8\n"
                                  "PATH=/usr/local/cuda-12.8/bin:/usr/bin\n")
    code, parsed = doctor(root, "--env", root.env)
    assert code == 1 and found(parsed) == ["TKT-002"], parsed["findings"]
    assert "CUDA_HOME=/usr/local/cuda-13.0" in one(parsed, "TKT-002")["fix"]["text"]


def test_readers_with_another_order_of_variables_are_told():
    root = sound()
    root.toolkit("12.8")
    root.file("/etc/environment", "CUDA_HOME=/usr/local/cuda-13.0\nCUDA_PATH=/usr/local/cuda-12.8\n")
    _, parsed = doctor(root, "--env", root.env)
    assert found(parsed) == ["TKT-003"], parsed["findings"]
    evidence = one(parsed, "TKT-003")["evidence"]
    assert any("CMake" in line and "12.8" in line for line in evidence)
    assert any("torch" in line and "13.0" in line for line in evidence)


def test_missing_pieces_are_named_with_their_packages():
    root = sound()
    for piece, finding, package in (("include/curand.h", "TKT-004", "libcurand-dev-13-0"),
                                    ("lib64/libcudart.so", "TKT-005", "cuda-cudart-dev-13-0"),
                                    ("nvvm/bin/cicc", "TKT-006", "cuda-nvcc-13-0")):
        kept = root.at(f"/usr/local/cuda-13.0/{piece}")
        is_link, content = kept.is_symlink(), kept.read_bytes()
        root.remove(f"/usr/local/cuda-13.0/{piece}")
        _, parsed = doctor(root, "--env", root.env)
        assert found(parsed) == [finding], (piece, parsed["findings"])
        text = text_of(one(parsed, finding))
        assert piece in text and package in text, text
        if is_link:
            root.link(f"/usr/local/cuda-13.0/{piece}", "libcudart.so.13")
        else:
            root.file(f"/usr/local/cuda-13.0/{piece}", content, 0o755)
    assert found(doctor(root, "--env", root.env)[1]) == []


def test_pip_packages_lack_the_names_to_link_with():
    root = sound()
    site = root.site
    root.toolkit("13.0", f"{site}/nvidia/cu13")
    lib = root.at(f"{site}/nvidia/cu13/lib")
    shutil.move(root.at(f"{site}/nvidia/cu13/lib64"), lib)
    for link in [*lib.glob("*.so"), *lib.glob("stubs/*.so")]:
        link.unlink()
    root.file("/etc/environment", f"CUDA_HOME={site}/nvidia/cu13\nCUDA_PATH={site}/nvidia/cu13\n")
    _, parsed = doctor(root, "--env", root.env)
    assert found(parsed) == ["TKT-005"], parsed["findings"]
    assert "system or conda toolkit" in one(parsed, "TKT-005")["fix"]["text"]
    assert "libcudart_static.a" not in text_of(one(parsed, "TKT-005"))


def test_the_layouts_of_conda_and_of_distributions_are_known():
    root = sound()
    conda = "/opt/venv"  # a prefix with conda-meta and the toolkit's packages in it
    made = root.toolkit("13.0", "/opt/made")
    root.folder(f"{conda}/conda-meta")
    shutil.move(root.at(f"{made}/lib64"), root.at("/opt/lib"))
    for part in ("bin", "nvvm"):
        shutil.copytree(root.at(f"{made}/{part}"), root.at(f"{conda}/{part}"), dirs_exist_ok=True, symlinks=True)
    target = root.at(f"{conda}/targets/x86_64-linux")
    target.mkdir(parents=True)
    shutil.move(root.at(f"{made}/include"), target / "include")
    shutil.move(root.at("/opt/lib"), target / "lib")
    root.link(f"{conda}/bin/gone", "nowhere")  # of another package: not the toolkit's affair
    root.file("/etc/environment", f"CUDA_HOME={conda}\nCUDA_PATH={conda}\nPATH={conda}/bin:/usr/bin\n")
    _, parsed = doctor(root, "--env", root.env)
    assert found(parsed) == [], parsed["findings"]
    assert "conda" in [each["kind"] for each in parsed["toolkits"]]
    root = HostRoot()
    root.env = root.environment(torch="2.11.0+cu130", cuda="13.0")
    root.file("/usr/bin/nvcc", "#!/bin/sh\nexec /usr/lib/nvidia-cuda-toolkit/bin/nvcc \"$@\"\n", 0o755)
    root.header("/usr", "cuda.h", "13.0")
    root.link("/usr/bin/gone", "nowhere")
    _, parsed = doctor(root, "--env", root.env)
    assert found(parsed) == [] and [each["kind"] for each in parsed["toolkits"]] == ["distribution"], parsed


def test_a_script_in_nvccs_place_needs_no_tools_beside_it():
    root = sound()
    root.file("/usr/local/bin/nvcc", "#!/bin/sh\nexec /usr/local/cuda-13.0/bin/nvcc \"$@\"\n", 0o755)
    for part in ("include", "lib64"):
        root.link(f"/usr/local/{part}", f"/usr/local/cuda-13.0/{part}")
    root.file("/etc/environment", "PATH=/usr/local/bin:/usr/bin\n")
    _, parsed = doctor(root, "--env", root.env)
    assert found(parsed) == [], parsed["findings"]
    root.file("/usr/local/bin/nvcc", "#!/bin/sh\n# Cuda compilation tools, release 13.0, V13.0.88\n", 0o755)
    assert found(doctor(root, "--env", root.env)[1]) == ["TKT-006"]


def test_an_image_of_run_time_libraries_lacks_nothing():
    root = sound()
    for part in ("bin", "nvvm", "include"):
        root.remove(f"/usr/local/cuda-13.0/{part}")
    root.file("/etc/environment", "")
    assert found(doctor(root, "--env", root.env)[1]) == []
    root.file("/etc/environment", "CUDA_HOME=/usr/local/cuda\n")
    assert {"TKT-004", "TKT-006"} <= set(found(doctor(root, "--env", root.env)[1]))


def test_a_library_of_another_release_is_told_by_its_name_and_by_its_header():
    root = sound()
    lib = "/usr/local/cuda-13.0/lib64"
    root.file(f"{lib}/libcublas.so.13.2.0.9", b"\x7fELF")
    root.link(f"{lib}/libcublas.so.13", "libcublas.so.13.2.0.9")
    _, parsed = doctor(root, "--env", root.env)
    assert found(parsed) == ["TKT-007"]
    assert "13.2.0.9" in text_of(one(parsed, "TKT-007")) and "13.1.0.3" in text_of(one(parsed, "TKT-007"))


def test_without_version_json_the_tables_tell_another_release():
    root = sound()
    root.remove("/usr/local/cuda-13.0/version.json")
    assert found(doctor(root, "--env", root.env)[1]) == []
    root.header("/usr/local/cuda-13.0", "curand.h", "12.8")
    _, parsed = doctor(root, "--env", root.env)
    assert found(parsed) == ["TKT-007"] and "12.8" in text_of(one(parsed, "TKT-007"))


def test_compiler_and_headers_of_two_releases_are_told():
    root = sound()
    root.file("/usr/local/cuda-13.0/bin/nvcc", "Cuda compilation tools, release 13.3, V13.3.33", 0o755)
    _, parsed = doctor(root, "--env", root.env)
    assert found(parsed) == ["TKT-010"], parsed["findings"]


def test_links_into_another_toolkit_and_links_to_nowhere_are_told():
    root = sound()
    root.toolkit("12.8")
    root.link("/usr/local/cuda-13.0/include/cusparse.h", "/usr/local/cuda-12.8/include/cusparse.h")
    root.link("/usr/local/cuda-13.0/lib64/libnpp.so", "libnpp.so.13")
    _, parsed = doctor(root, "--env", root.env)
    assert found(parsed) == ["TKT-008", "TKT-009"], parsed["findings"]
    assert "/usr/local/cuda-12.8/include/cusparse.h" in text_of(one(parsed, "TKT-008"))


# --- loader ---

def test_library_path_that_shadows_the_environment_is_told():
    root = sound()
    root.file(f"{root.site}/nvidia/cu13/lib/libcublas.so.13", b"\x7fELF")
    root.file("/etc/environment", "CUDA_HOME=/usr/local/cuda\nCUDA_PATH=/usr/local/cuda\nLD_LIBRARY_PATH=/usr/local/cuda/lib64:/gone\n")
    _, parsed = doctor(root, "--env", root.env)
    assert found(parsed) == ["LDR-001"], parsed["findings"]
    assert "libcublas.so.13" in text_of(one(parsed, "LDR-001")) and "/gone" in text_of(one(parsed, "LDR-002"))


def test_a_stubs_folder_on_the_loaders_path_is_an_error():
    root = sound()
    root.link("/usr/local/cuda-13.0/lib64/stubs/libcuda.so.1", "libcuda.so")
    root.file("/etc/environment", "LD_LIBRARY_PATH=/usr/local/cuda-13.0/lib64/stubs\n")
    code, parsed = doctor(root)
    assert code == 1 and found(parsed) == ["DRV-006", "LDR-003"], parsed["findings"]


def test_a_preloaded_file_that_is_not_there_is_told():
    root = sound()
    root.file("/etc/environment", "LD_PRELOAD=/opt/lib/libjemalloc.so.2\n")
    assert found(doctor(root)[1]) == ["LDR-004"]


def test_a_cache_that_is_older_than_the_folders_is_told():
    root = sound()
    lib = "/usr/local/cuda-13.0/lib64"
    root.file("/etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n")
    root.file("/etc/ld.so.conf.d/cuda.conf", f"{lib}\n")
    listed = {f"{stem}.so.13": f"{lib}/{stem}.so.13" for stem in ("libcudart", "libcublas", "libnvrtc")}
    root.file("/etc/ld.so.cache", cache(listed))
    assert found(doctor(root)[1]) == [], doctor(root)[1]["findings"]
    root.file("/etc/ld.so.cache", cache({"libz.so.1": "/usr/lib/libz.so.1"}))
    _, parsed = doctor(root)
    assert found(parsed) == ["LDR-005"] and "there and not in the cache" in text_of(one(parsed, "LDR-005"))
    root.file("/etc/ld.so.cache", cache({**listed, "libnvJitLink.so.13": f"{lib}/libnvJitLink.so.13"}))
    _, parsed = doctor(root)
    assert found(parsed) == ["LDR-005"] and "in the cache and not there" in text_of(one(parsed, "LDR-005"))


# --- driver ---

def module_of_cuda_13(root):
    """A package whose module needs the runtime of CUDA 13, which lies beside it."""
    cc = shutil.which("cc") or skip("there is no C compiler")
    folder = root.at(f"{root.site}/mine")
    folder.mkdir()
    for name, code, flags in (("libcudart.so.13", "int cudaFree(void *p) { return p != 0; }", ["-Wl,-soname,libcudart.so.13"]),
                              ("_C.abi3.so", "int cudaFree(void *); int PyInit__C(void) { return cudaFree(0); }",
                               [folder / "libcudart.so.13", "-Wl,-rpath,$ORIGIN"])):
        subprocess.run([cc, "-shared", "-fPIC", "-nostdlib", "-x", "c", "-", "-x", "none", "-o", folder / name, *flags],
                       input=code, text=True, check=True)


def test_a_driver_in_step_and_new_enough_is_sound():
    root = sound()
    root.driver("580.95.05", gpus=["NVIDIA H200"] * 2)
    code, parsed = doctor(root, "--env", root.env)
    assert (code, found(parsed)) == (0, []), parsed["findings"]
    assert parsed["driver"]["gpus"] == ["NVIDIA H200"] * 2


def test_drivers_out_of_step_and_below_the_floor_are_errors():
    root = sound()
    root.driver("570.124.06", libcuda="575.57.08")
    module_of_cuda_13(root)
    _, parsed = doctor(root, "--env", root.env)
    assert found(parsed) == ["CUDA-011", "DRV-002"], parsed["findings"]
    assert "580.65.06" in text_of(one(parsed, "CUDA-011")) and "803" in text_of(one(parsed, "DRV-002"))


def test_a_forward_compatibility_package_is_told():
    root = sound()
    root.driver("570.124.06")
    module_of_cuda_13(root)
    root.file("/usr/local/cuda-13.0/compat/libcuda.so.580.65.06", b"\x7fELF")
    root.link("/usr/local/cuda-13.0/compat/libcuda.so.1", "libcuda.so.580.65.06")
    root.file("/etc/environment", "CUDA_HOME=/usr/local/cuda\nCUDA_PATH=/usr/local/cuda\nLD_LIBRARY_PATH=/usr/local/cuda-13.0/compat\n")
    _, parsed = doctor(root, "--env", root.env)
    assert found(parsed) == [] and one(parsed, "DRV-004")["severity"] == "note", parsed["findings"]


def test_a_driver_without_its_library_and_without_its_nodes_is_told():
    root = sound()
    root.driver("580.95.05")
    root.remove("/usr/lib/libcuda.so.1")
    _, parsed = doctor(root)
    assert found(parsed) == ["DRV-005"], parsed["findings"]
    root = sound()
    root.driver("580.95.05")
    for name in ("nvidiactl", "nvidia0"):
        root.file(f"/dev/{name}")  # what a container's mount of a missing node leaves
    _, parsed = doctor(root)
    assert found(parsed) == ["DRV-007"] and "/dev/nvidia0: no device node" in text_of(one(parsed, "DRV-007"))


# --- sitecustomize ---

def site(root, text, name="sitecustomize.py"):
    root.file(f"{root.site}/{name}", text)


def test_an_ellipsis_ends_the_file_and_what_is_lost_is_named():
    root = sound()
    site(root, 'import os\nos.environ["A_FIRST"] = "1"\nos.environ["NCCL_DEBUG"] = ...\n'
               'os.environ["TRITON_HOME"] = "/opt/t"\nos.environ.setdefault("CC", "gcc")\n')
    code, parsed = doctor(root, "--env", root.env)
    assert code == 1 and found(parsed) == ["SITE-003"], parsed["findings"]
    text = text_of(one(parsed, "SITE-003"))
    assert ":3:" in text and "TRITON_HOME" in text and "CC" in text and "A_FIRST" not in text


def test_the_ellipsis_does_not_fire_where_the_variable_is_set():
    root = sound()
    site(root, 'import os\nif "CUDA_HOME" not in os.environ:\n    os.environ["CUDA_HOME"] = ...\n'
               'os.environ.setdefault("CUDA_PATH", ...)\nos.environ["TRITON_HOME"] = "/opt"\n')
    code, parsed = doctor(root, "--env", root.env)
    assert code == 0 and found(parsed) == ["SITE-004", "SITE-004"], parsed["findings"]
    assert "/etc/environment:1" in text_of(parsed["findings"][0])


def test_other_values_that_are_no_strings_raise_too():
    for value, kind in (("4", "int"), ("None", "NoneType"), ("True", "bool"), ('b"x"', "bytes"), ("['x']", "list")):
        root = sound()
        site(root, f'import os\nos.environ["OMP_NUM_THREADS"] = {value}\n')
        _, parsed = doctor(root, "--env", root.env)
        assert found(parsed) == ["SITE-003"] and kind in text_of(one(parsed, "SITE-003")), (value, parsed["findings"])


def test_an_exception_that_is_caught_loses_only_its_block():
    root = sound()
    site(root, 'import os\ntry:\n    os.environ["CC"] = ...\n    os.environ["CXX"] = "g++"\nexcept Exception:\n    pass\n'
               'os.environ["TRITON_HOME"] = "/opt"\n')
    _, parsed = doctor(root, "--env", root.env)
    text = text_of(one(parsed, "SITE-003"))
    assert "CXX" in text and "TRITON_HOME" not in text


def test_a_default_that_an_older_value_defeats_is_told():
    root = sound()
    site(root, 'import os\nos.environ.setdefault("CUDA_HOME", "/usr/local/cuda-13.1")\n')
    _, parsed = doctor(root, "--env", root.env)
    assert found(parsed) == ["SITE-005"], parsed["findings"]
    assert "/etc/environment:1" in text_of(one(parsed, "SITE-005"))


def test_shell_leftovers_dead_paths_typos_and_late_variables_are_told():
    root = sound()
    site(root, 'import os\nos.environ["TRITON_HOME"] = "$HOME/triton"\n'
               'os.environ["CUDA_HOME"] = "/usr/local/cuda-13.9"\n'
               'os.environ["TRITON_PTXAS_PTH"] = "/usr/bin/ptxas"\n'
               'os.environ["LD_LIBRARY_PATH"] = "/opt/lib"\n')
    _, parsed = doctor(root, "--env", root.env)
    assert set(found(parsed)) == {"SITE-006", "SITE-007", "SITE-008", "SITE-009", "TKT-001"}, parsed["findings"]
    assert "TRITON_PTXAS_PATH" in text_of(one(parsed, "SITE-008"))


def test_functions_loops_and_updates_are_followed():
    root = sound()
    site(root, 'import os as o\nfrom os import environ\ndef put(k, v="x"):\n    environ[k] = v\n'
               'put("CUDA_HOME", "/nowhere/1")\nfor k, v in {"CUDA_PATH": "/nowhere/2"}.items():\n    o.environ[k] = v\n'
               'environ.update({"CUDAToolkit_ROOT": o.path.join("/nowhere", "3")})\n')
    _, parsed = doctor(root, "--env", root.env)
    titles = [each["title"] for each in parsed["findings"] if each["id"] == "SITE-007"]
    assert len(titles) == 3 and all(any(f"/nowhere/{i} " in title for title in titles) for i in (1, 2, 3)), titles


def test_what_only_a_run_would_tell_is_a_note():
    root = sound()
    site(root, 'import os, mine\nmine.setup()\nos.environ["TRITON_HOME"] = mine.folder()\n')
    _, parsed = doctor(root, "--env", root.env)
    assert found(parsed) == [] and len(one(parsed, "SITE-012")["evidence"]) == 3, parsed["findings"]


def test_a_file_that_is_no_python_runs_not_at_all():
    root = sound()
    site(root, 'export CUDA_HOME=/usr/local/cuda\n')
    code, parsed = doctor(root, "--env", root.env)
    assert code == 1 and found(parsed) == ["SITE-002"], parsed["findings"]


def test_the_distributions_own_file_hides_the_environments():
    root = sound()
    root.file("/usr/lib/python3.12/sitecustomize.py", "# apport\n")
    site(root, "import os\n")
    _, parsed = doctor(root, "--env", root.env)
    assert found(parsed) == ["SITE-010"] and "/usr/lib/python3.12" in text_of(one(parsed, "SITE-010"))


def test_statements_in_a_pth_file_are_read():
    root = sound()
    site(root, 'import os; os.environ["CUDA_HOME"] = "/nowhere"\n', "early.pth")
    _, parsed = doctor(root, "--env", root.env)
    assert "SITE-007" in found(parsed) and "early.pth:1" in text_of(one(parsed, "SITE-007"))


def test_predictions_agree_with_real_pythons():
    """What the file leaves in os.environ, as Python itself says, for every form above."""
    scripts = ['import os\nos.environ["A"] = "1"\nos.environ["B"] = ...\nos.environ["CUDA_HOME"] = "/x"\n',
               'import os\nos.environ.setdefault("SEEN", ...)\nos.environ.setdefault("CUDA_HOME", "/x")\n',
               'import os\ntry:\n    os.environ["B"] = 4\nexcept TypeError:\n    os.environ["CUDA_HOME"] = "/x"\n']
    for python in pythons():
        for script in scripts:
            folder = pathlib.Path(tempfile.mkdtemp())
            (folder / "sitecustomize.py").write_text(script)
            done = subprocess.run([python, "-s", "-c", "import os; print(os.environ.get('CUDA_HOME'))"], capture_output=True,
                                  text=True, env={"PYTHONPATH": str(folder), "SEEN": "1"})
            root = sound()
            root.file("/etc/environment", "SEEN=1\n")
            site(root, script)
            _, parsed = doctor(root, "--env", root.env)
            ours = "/x" if any("/x" in each["title"] and each["id"] == "TKT-001" for each in parsed["findings"]) else "None"
            assert done.stdout.strip() == ours, (python, script, done.stdout, parsed["findings"])


def pythons():
    found_here = [sys.executable]
    for folder in sorted(pathlib.Path.home().glob(".pyenv/versions/3.*/bin/python3")):
        minor = int(folder.parent.parent.name.split(".")[1])
        if 9 <= minor <= 13:
            found_here.append(str(folder))
    return [each for each in found_here if each]


# --- NCCL ---

SIX = {"NCCL_PROTO": "LL", "NCCL_ALGO": "Ring", "NCCL_P2P_LEVEL": "SYS", "NCCL_MAX_NCHANNELS": "16",
       "NCCL_BUFFSIZE": "16777216", "NCCL_NTHREADS": "512"}


def nccl(**settings):
    root = HostRoot()
    root.file("/etc/environment", "".join(f"{name}={value}\n" for name, value in settings.items()))
    return doctor(root)


def test_six_settings_are_accepted_as_they_are():
    code, parsed = nccl(**SIX)
    assert (code, found(parsed)) == (0, []), parsed["findings"]
    assert {each["name"]: each["effective"] for each in parsed["nccl"]["settings"]} == SIX
    assert found(parsed, notes=True).count("NCV-005") == 6  # each says what it takes from NCCL's own choice


def test_a_typo_in_each_value_is_told_as_nccl_takes_it():
    for name, value, finding, effective in (
            ("NCCL_PROTO", "LL12", "NCV-001", "none"), ("NCCL_ALGO", "Rings", "NCV-001", "none"),
            ("NCCL_PROTO", "^LL,^LL128", "NCV-001", "none"), ("NCCL_ALGO", "Ring, Tree", "NCV-001", "none"),
            ("NCCL_P2P_LEVEL", "sys", "NCV-002", "default"), ("NCCL_P2P_LEVEL", "SYSS", "NCV-002", "default"),
            ("NCCL_MAX_NCHANNELS", "128", "NCV-003", "64"), ("NCCL_BUFFSIZE", "16M", "NCV-003", "16"),
            ("NCCL_BUFFSIZE", "big", "NCV-003", "0"), ("NCCL_NTHREADS", "500", "NCV-003", "512"),
            ("NCCL_NTHREADS", "1024", "NCV-003", "512"), ("NCCL_NTHREADS", "32", "NCV-003", "64")):
        code, parsed = nccl(**{name: f'"{value}"'})
        assert found(parsed) == [finding], (name, value, parsed["findings"])
        (setting,) = parsed["nccl"]["settings"]
        assert setting["effective"].startswith(effective), setting
        assert code == (1 if finding == "NCV-001" else 0)


def test_forms_that_nccl_accepts_are_accepted():
    for name, value in (("NCCL_PROTO", "ll,simple"), ("NCCL_ALGO", "^tree"), ("NCCL_ALGO", "ring;allreduce:tree,ring"),
                        ("NCCL_BUFFSIZE", "0x400000"), ("NCCL_P2P_LEVEL", "NVL"), ("NCCL_P2P_LEVEL", "3")):
        assert found(nccl(**{name: f'"{value}"'})[1]) == [], (name, value)


def test_a_typo_in_a_name_is_told_with_the_name_that_is_read():
    _, parsed = nccl(NCCL_P2P_LEVLE="SYS")
    assert found(parsed) == ["NCV-004"] and "NCCL_P2P_LEVEL" in text_of(one(parsed, "NCV-004"))


def test_the_environment_comes_before_the_files_and_the_users_before_etc():
    root = HostRoot()
    root.file("/etc/environment", "NCCL_PROTO=LL\n")
    root.file("/root/.nccl.conf", "NCCL_PROTO=Simple\nNCCL_ALGO=Ring\n")
    root.file("/etc/nccl.conf", "#x\nNCCL_ALGO=Tree\nNCCL_BUFFSIZE=1048576\n")
    _, parsed = doctor(root)
    got = {each["name"]: each["effective"] for each in parsed["nccl"]["settings"]}
    assert got == {"NCCL_PROTO": "LL", "NCCL_ALGO": "Ring", "NCCL_BUFFSIZE": "1048576"}, got
    assert len(one(parsed, "NCV-006")["evidence"]) == 2


def test_tuning_of_another_nccl_or_driver_is_unverified():
    root = sound()
    root.driver("580.95.05")
    record = {"nccl": "2.28.9+cuda13.0", "driver": {"version": "580.65.06"}, "settings": [{"setting": "NCCL_PROTO=LL"}]}
    path = root.path / "tuning.json"
    path.write_text(json.dumps(record))
    assert "NCV-007" in found(doctor(root, "--tuning", path)[1])
    record["driver"]["version"] = "580.95.05"
    path.write_text(json.dumps(record))
    assert found(doctor(root, "--tuning", path)[1]) == []


# --- Triton ---

def triton(version, gpu, ptxas="12.8", **variables):
    root = sound()
    root.package("triton", version)
    tools = f"{root.site}/triton/backends/nvidia/bin"
    root.file(f"{tools}/ptxas", f"Cuda compilation tools, release {ptxas}, V{ptxas}.93", 0o755)
    root.file(f"{tools}/ptxas-blackwell", "Cuda compilation tools, release 12.9, V12.9.86", 0o755)
    root.driver("580.95.05", gpus=[gpu])
    root.file("/opt/old/ptxas", "Cuda compilation tools, release 11.7, V11.7.99", 0o755)
    lines = "".join(f"{name}={value}\n" for name, value in variables.items())
    root.file("/etc/environment", "CUDA_HOME=/usr/local/cuda\nCUDA_PATH=/usr/local/cuda\n" + lines)
    return found(doctor(root, "--env", root.env)[1])


def test_tools_of_triton_are_judged_for_the_gpu():
    good = "/usr/local/cuda-13.0/bin/ptxas"
    assert triton("3.5.0", "NVIDIA H200") == []
    assert triton("3.5.0", "NVIDIA H200", TRITON_PTXAS_PATH=good) == []
    assert triton("3.5.0", "NVIDIA H200", TRITON_PTXAS_PATH="/usr/local/cuda-13.0/bin") == ["PTX-001"]
    assert triton("3.5.0", "NVIDIA H200", TRITON_PTXAS_PATH="/opt/old/ptxas") == ["PTX-002"]
    assert triton("3.6.0", "NVIDIA B200", TRITON_PTXAS_PATH=good) == ["PTX-003"]
    assert triton("3.5.0", "NVIDIA GB10") == ["PTX-004"]
    assert triton("3.6.0", "NVIDIA GB10") == []
    assert triton("3.6.0", "NVIDIA H200", TRITON_CUOBJDUMP_PATH="/opt/gone/cuobjdump") == ["PTX-001"]


# --- caches ---

def test_objects_that_no_longer_load_are_told_with_the_command_that_clears_them():
    root = sound()
    cache = "/root/.cache/torch_extensions/py312_cu130"
    good = (FIXTURES / "stand_alone" / "libplain.so") if (FIXTURES / "stand_alone" / "libplain.so").exists() else None
    scene = FIXTURES / "scenes" / "soname_needed" / "libroot.so"
    root.file(f"{cache}/fused/fused.so", scene.read_bytes())
    if good:
        root.file(f"{cache}/plain/plain.so", good.read_bytes())
    code, parsed = doctor(root, "--env", root.env)
    assert code == 1 and found(parsed) == ["JIT-001"], parsed["findings"]
    finding = one(parsed, "JIT-001")
    assert finding["fix"]["text"] == f"rm -r '{cache}/fused'" and "libleaf.so" in text_of(finding), finding


def test_caches_of_other_releases_are_notes():
    root = sound()
    root.package("flashinfer-python", "0.6.4")
    root.file("/root/.cache/flashinfer/0.6.3/90a/cached_ops/x/x.so", b"\x7fELF")
    root.file("/root/.cache/torch_extensions/py311_cu128/y/y.so", b"\x7fELF")
    _, parsed = doctor(root, "--env", root.env)
    assert found(parsed) == [], parsed["findings"]
    assert found(parsed, notes=True).count("JIT-002") == 2


# --- services ---

def unit(root, lines, dropin=None):
    root.file("/etc/systemd/system/serve.service", "[Unit]\nDescription=x\n[Service]\n" + lines)
    if dropin:
        root.file("/etc/systemd/system/serve.service.d/a.conf", "[Service]\n" + dropin)
    return doctor(root, "--env", root.env, "--unit", "serve.service")[1]


def test_a_unit_without_the_toolkit_is_told():
    root = sound()
    parsed = unit(root, "ExecStart=/opt/venv/bin/python -m serve\n")
    assert "SVC-001" in found(parsed) and "CUDA_HOME" in one(parsed, "SVC-001")["title"]


def test_a_unit_with_the_variables_in_a_drop_in_is_sound():
    root = sound()
    home = "/usr/local/cuda-13.0"
    parsed = unit(root, "ExecStart=/opt/venv/bin/python -m serve\n", f'Environment="CUDA_HOME={home}" CUDA_PATH={home}\n')
    assert found(parsed) == [], parsed["findings"]


def test_where_sitecustomize_does_not_run_is_told():
    root = sound()
    root.file("/etc/environment", "PATH=/usr/local/cuda/bin:/usr/bin\n")
    site(root, 'import os\nos.environ["CUDA_HOME"] = "/usr/local/cuda-13.0"\nos.environ["CUDA_PATH"] = "/usr/local/cuda-13.0"\n')
    assert found(unit(root, "ExecStart=/opt/venv/bin/python -m serve\n")) == []
    for start, why in (("/opt/venv/bin/python -S -m serve", "-S"), ("/usr/bin/python3.11 x.py", "another Python"),
                       ("/usr/bin/serve", "not this environment")):
        parsed = unit(root, f"ExecStart={start}\n")
        assert found(parsed) == ["SVC-001"] and why in text_of(one(parsed, "SVC-001")), (start, parsed["findings"])


def test_a_unit_with_other_values_is_a_note():
    root = sound()
    root.toolkit("12.8")
    old = "/usr/local/cuda-12.8"
    parsed = unit(root, f"ExecStart=/opt/venv/bin/python -m serve\nEnvironment=CUDA_HOME={old} CUDA_PATH={old}\n")
    assert found(parsed) == ["TKT-002"] and len(one(parsed, "SVC-002")["evidence"]) == 2, parsed["findings"]


def test_lines_of_a_unit_that_mislead_are_told():
    root = sound()
    parsed = unit(root, "ExecStart=/opt/venv/bin/python\nEnvironment=CUDA_HOME=$CUDA HOME\nEnvironmentFile=/etc/gone.env\n")
    assert len(one(parsed, "SVC-003")["evidence"]) == 3, parsed["findings"]


def test_compose_and_dockerfile_are_read():
    root = sound()
    root.file("/srv/compose.yml", "services:\n  one:\n    image: x\n    environment:\n      - CUDA_HOME=/usr/local/cuda-13.0\n"
                                  "      - CUDA_PATH=/usr/local/cuda-13.0\n  two:\n    environment:\n      CUDA_HOME: /usr/local/cuda-13.0\n")
    parsed = doctor(root, "--env", root.env, "--unit", "/srv/compose.yml")[1]
    titles = [each["title"] for each in parsed["findings"] if each["id"] == "SVC-001"]
    assert len(titles) == 1 and "two" in titles[0] and "CUDA_PATH" in titles[0], parsed["findings"]
    root.file("/srv/Dockerfile", "FROM x\nENV CUDA_HOME=/usr/local/cuda-13.0 \\\n  A=b\nENV CUDA_PATH=$CUDA_HOME\n")
    assert found(doctor(root, "--env", root.env, "--unit", "/srv/Dockerfile")[1]) == []


# --- packages, expectations ---

def test_flashinfers_packages_of_two_releases_are_an_error():
    root = sound()
    root.package("flashinfer-python", "0.6.4")
    root.package("flashinfer-cubin", "0.6.3")
    code, parsed = doctor(root, "--env", root.env)
    assert code == 1 and found(parsed) == ["FAM-001"], parsed["findings"]


def test_local_labels_are_no_difference():
    root = sound()
    root.package("flashinfer-python", "0.6.16")
    root.package("flashinfer-jit-cache", "0.6.16+cu130")
    assert found(doctor(root, "--env", root.env)[1]) == []


def test_a_second_torch_and_one_whose_files_and_metadata_differ_are_told():
    root = sound()
    root.file("/root/.local/lib/python3.12/site-packages/torch/version.py", "__version__ = '2.9.1+cu128'\ncuda = '12.8'\n")
    root.file("/etc/environment", "CUDA_HOME=/usr/local/cuda\nCUDA_PATH=/usr/local/cuda\n"
                                  "PYTHONPATH=/root/.local/lib/python3.12/site-packages\n")
    _, parsed = doctor(root, "--env", root.env)
    assert "PKG-010" in found(parsed) and len(one(parsed, "PKG-010")["evidence"]) == 2, parsed["findings"]
    assert parsed["torch"] == {"version": "2.9.1+cu128", "cuda": "12.8"}
    root = sound()
    root.file(f"{root.site}/torch/version.py", "__version__ = '2.10.0+cu130'\ncuda = '13.0'\n")
    _, parsed = doctor(root, "--env", root.env)
    assert found(parsed) == ["PKG-011"], parsed["findings"]


def test_what_an_installed_package_requires_and_lacks_is_told():
    root = sound()
    root.package("triton", "3.5.0", requires=["setuptools>=40"])
    _, parsed = doctor(root, "--env", root.env)
    assert found(parsed) != [] and "setuptools" in str(parsed["findings"]), parsed["findings"]


def test_modules_that_do_not_load_are_one_line():
    root = sound()
    root.file(f"{root.site}/mine/_C.abi3.so", (FIXTURES / "scenes" / "soname_needed" / "libroot.so").read_bytes())
    _, parsed = doctor(root, "--env", root.env)
    assert found(parsed) == [] and "check --env" in one(parsed, "PKG-009")["fix"]["text"], parsed["findings"]


def test_a_recorded_list_is_met_and_a_changed_host_is_not():
    root = sound()
    root.driver("580.95.05", gpus=["NVIDIA H200"])
    listed = root.path / "list.toml"
    doctor(root, "--env", root.env, "--record", listed)
    text = listed.read_text()
    assert 'nvcc = "13.0"' in text and 'torch = "2.11.0+cu130"' in text and "count = 1" in text and '"9.0"' in text
    code, parsed = doctor(root, "--env", root.env, "--expect", listed)
    assert code == 0 and parsed["expectations"] and all(each["met"] for each in parsed["expectations"])
    listed.write_text(text.replace("580.95.05", "590.44.01").replace("2.11.0+cu130", "2.12.0"))
    code, parsed = doctor(root, "--env", root.env, "--expect", listed)
    assert code == 1 and found(parsed) == ["EXP-001", "EXP-001"], parsed["findings"]


def test_a_line_that_means_nothing_is_wrong_usage():
    root = sound()
    listed = root.path / "list.toml"
    listed.write_text("[gpu]\ncolour = 'green'\n")
    assert run("doctor", "--sysroot", root.path, "--expect", listed).returncode == 2


# --- the whole ---

def everything():
    """Two toolkits and every fault of the list."""
    root = HostRoot()
    root.toolkit("12.8")
    root.toolkit("13.0")
    root.link("/usr/local/cuda", "cuda-12.8")
    new = "/usr/local/cuda-13.0"
    root.remove(f"{new}/include/curand.h")
    root.file(f"{new}/lib64/libcublas.so.13.2.0.9", b"\x7fELF")
    root.link(f"{new}/lib64/libcublas.so.13", "libcublas.so.13.2.0.9")
    root.remove(f"{new}/lib64/libcublas.so.13.1.0.3")
    root.link(f"{new}/include/cusparse.h", "/usr/local/cuda-12.8/include/cusparse.h")
    root.file("/etc/environment", "CUDA_HOME=/usr/local/cuda-12.8\nPATH=/usr/local/cuda/bin:/usr/bin:/bin\n")
    root.env = root.environment(torch="2.11.0+cu130", cuda="13.0")
    root.package("flashinfer-python", "0.6.4")
    root.package("flashinfer-cubin", "0.6.3")
    site(root, 'import os\nos.environ.setdefault("CUDA_HOME", "/usr/local/cuda-13.0")\n'
               'os.environ["FLASHINFER_CUDA_ARCH_LIST"] = ...\nos.environ["NCCL_DEBUG"] = "WARN"\n')
    root.file("/etc/systemd/system/serve.service", "[Service]\nExecStart=/usr/bin/serve\n")
    root.file("/root/.cache/torch_extensions/py312_cu130/fused/fused.so",
              (FIXTURES / "scenes" / "soname_needed" / "libroot.so").read_bytes())
    root.file("/root/.cache/flashinfer/0.6.3/90a/cached_ops/x/x.so", b"\x7fELF")
    return root


def test_every_fault_of_one_root_is_found_and_the_corrected_files_settle_all():
    root = everything()
    fixes = pathlib.Path(tempfile.mkdtemp())
    before = snapshot(root)
    code, parsed = doctor(root, "--env", root.env, "--unit", "serve.service", "--write-fix", fixes)
    assert snapshot(root) == before, "doctor changed the root"
    assert code == 1
    assert sorted(set(found(parsed, notes=True))) == sorted({
        "TKT-002",  # the old toolkit by CUDA_HOME, and by its usual folder in the unit
        "TKT-004", "TKT-007", "TKT-008",  # curand.h, libcublas, cusparse.h
        "SITE-003", "SITE-005",  # the Ellipsis, the defeated default
        "SVC-001", "JIT-001", "JIT-002", "FAM-001", "SITE-001", "DRV-001"}), found(parsed, notes=True)
    assert "NCCL_DEBUG" in text_of(one(parsed, "SITE-003"))
    # Every file says which finding it settles; the diff is one that patch(1) takes.
    for each in parsed["written"]:
        text = (fixes / each["path"]).read_text()
        for name in each["settles"]:
            assert name in text, (each, text)
    apply_diff(root, fixes)
    corrected = root.at(f"{root.site}/sitecustomize.py").read_text()
    follow(root, (fixes / "commands.sh").read_text())
    code, again = doctor(root, "--env", root.env, "--unit", "serve.service")
    assert (code, found(again)) == (0, []), again["findings"]
    assert "JIT-002" not in found(again, notes=True)
    folder = pathlib.Path(tempfile.mkdtemp())
    (folder / "sitecustomize.py").write_text(corrected)
    for python in pythons():
        done = subprocess.run([python, "-s", "-c", "import os; print(os.environ['CUDA_HOME'], os.environ['NCCL_DEBUG'])"],
                              capture_output=True, text=True,
                              env={"CUDA_HOME": "/usr/local/cuda-12.8", "PYTHONPATH": str(folder)})
        assert done.stdout.split() == ["/usr/local/cuda-13.0", "WARN"] and not done.stderr, (python, done)


def snapshot(root):
    return {str(path): path.read_bytes() if path.is_file() and not path.is_symlink() else b""
            for path in sorted(root.path.rglob("*"))}


def apply_diff(root, fixes):
    if shutil.which("patch"):
        done = subprocess.run(["patch", "-p1", "-d", root.path, "-i", fixes / "changes.diff"], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        for path in (fixes / "root").rglob("*"):
            if path.is_file():
                assert root.at(str(path.relative_to(fixes / "root"))).read_text() == path.read_text(), path
    else:
        shutil.copytree(fixes / "root", root.path, dirs_exist_ok=True)


def follow(root, commands):
    """Does to the root what the commands would do: package managers are played by the root's maker."""
    new = "/usr/local/cuda-13.0"
    for line in commands.splitlines():
        words = line.replace("'", "").replace('"', "").split()
        if not words or line.startswith("#"):
            continue
        if words[0] == "rm":
            remove_part = [each for each in words[1:] if each.startswith("/")]
            for each in remove_part:
                root.remove(each.rstrip(";"))
        if "libcurand-dev-13-0" in words:
            root.header(new, "curand.h", "13.0")
        if "libcusparse-dev-13-0" in words:
            root.header(new, "cusparse.h", "13.0")
        if any(word.startswith("libcublas") for word in words):
            root.remove(f"{new}/lib64/libcublas.so.13.2.0.9")
            root.file(f"{new}/lib64/libcublas.so.13.1.0.3", b"\x7fELF")
            root.link(f"{new}/lib64/libcublas.so.13", "libcublas.so.13.1.0.3")
        if words[:2] == ["pip", "install"]:
            for pin in words[2:]:
                name, version = pin.split("==")
                for old in root.at(root.site).glob(name.replace("-", "_") + "-*.dist-info"):
                    shutil.rmtree(old)
                root.package(name, version)


def test_a_toolkit_that_the_loader_does_not_search_gets_its_line_and_is_clean_with_it():
    root = sound()
    lib = root.at("/usr/local/cuda-13.0/lib64")
    module_of_cuda_13(root)
    runtime = root.at(f"{root.site}/mine/libcudart.so.13")
    (lib / "libcudart.so.13.0.96").write_bytes(runtime.read_bytes())
    runtime.unlink()
    fixes = pathlib.Path(tempfile.mkdtemp())
    _, parsed = doctor(root, "--env", root.env, "--write-fix", fixes)
    assert found(parsed) == ["CUDA-002"], parsed["findings"]
    (line,) = (fixes / "root/etc/ld.so.conf.d").iterdir()
    text = line.read_text()
    assert text == "# wheelvet CUDA-002\n/usr/local/cuda/lib64\n", text
    assert "ldconfig" in (fixes / "commands.sh").read_text()
    shutil.copytree(fixes / "root", root.path, dirs_exist_ok=True)
    root.file("/etc/ld.so.cache", cache({"libcudart.so.13": "/usr/local/cuda-13.0/lib64/libcudart.so.13"}))
    assert found(doctor(root, "--env", root.env)[1]) == [], doctor(root, "--env", root.env)[1]["findings"]


def test_names_and_values_from_files_reach_no_shell_unquoted():
    root = sound()
    site(root, 'import os\nos.environ["CUDA_HOME"] = "/x\'; touch /tmp/pwned #"\n')
    fixes = pathlib.Path(tempfile.mkdtemp())
    doctor(root, "--env", root.env, "--write-fix", fixes)
    commands = fixes / "commands.sh"
    assert not commands.exists() or "pwned" not in [line for line in commands.read_text().splitlines() if not line.startswith("#")]


def test_the_interpreter_parses_and_runs_nothing():
    """--python on a real environment: the syntax that only Python knows is told, the file's code is not run."""
    python = shutil.which("python3")
    env = pathlib.Path(tempfile.mkdtemp()) / "env"
    if subprocess.run([python, "-m", "venv", "--without-pip", env], capture_output=True).returncode:
        skip("python3 -m venv does not work here")
    (site_folder,) = env.glob("lib/python3*/site-packages")
    mark = env / "ran"
    (site_folder / "usercustomize.py").write_text("")
    (site_folder / "sitecustomize.py").write_text(f"open({str(mark)!r}, 'w')\nx = = 1\n")
    done = run("doctor", "--env", env, "--python", "--format", "json", env={"PATH": "/usr/bin:/bin"})
    parsed = json.loads(done.stdout)
    validate(parsed, "doctor")
    hidden = "SITE-010" in found(parsed)  # Debian's own file stands before it
    assert hidden or "line 2" in text_of(one(parsed, "SITE-002")), parsed["findings"]
    assert not mark.exists()


# --- a project's configuration ---

def configured(root, text, *arguments, schema="doctor"):
    """Exit code and report of `doctor` in a folder with this wheelvet.toml."""
    folder = pathlib.Path(tempfile.mkdtemp())
    (folder / "wheelvet.toml").write_text(text)
    done = run("doctor", "--sysroot", root.path, "--env", root.env, *arguments, "--format", "json", cwd=folder)
    parsed = json.loads(done.stdout)
    validate(parsed, schema)
    return done.returncode, parsed, folder


def faulty():
    root = sound()
    root.file("/etc/environment", "CUDA_HOME=/usr/local/cuda-12.4\n")
    return root


KNOWN = '[[suppress]]\nrule = "TKT-001"\nreason = "the image is built without it"\n'


def test_a_suppression_of_the_project_covers_a_finding_of_the_host():
    root = faulty()
    assert configured(root, "")[0] == 1
    code, parsed, folder = configured(root, KNOWN, "--write-fix", pathlib.Path(tempfile.mkdtemp()) / "fix")
    assert code == 0 and one(parsed, "TKT-001")["suppressed"] == "the image is built without it (wheelvet.toml:1)"
    assert parsed["headline"].endswith("nothing wrong was found") and parsed["configuration"] == "wheelvet.toml"
    assert not any("TKT-001" in each["settles"] for each in parsed["written"]), parsed["written"]
    shown = run("doctor", "--sysroot", root.path, "--env", root.env, cwd=folder).stdout
    assert shown.startswith("WELL") and "1 suppressed" in shown and "wheelvet.toml" in shown, shown
    assert run("doctor", "--sysroot", root.path, "--env", root.env, "--no-config", cwd=folder).returncode == 1


def test_severities_and_thresholds_of_the_project_hold_for_the_host():
    root = faulty()
    assert configured(root, '[severity]\nTKT-001 = "note"\n')[0] == 0
    assert configured(root, 'ignore = ["TKT"]\nformat = "sarif"\nenv = "."\n')[0] == 0
    assert configured(sound(), 'fail-on = "note"\n')[0] == configured(sound(), "", "--fail-on", "note")[0]
    done = run("doctor", "--sysroot", root.path, "--ignore", "TKT-9")
    assert done.returncode == 2 and "no rule is called TKT-9" in done.stderr


def test_a_suppression_is_stale_for_the_command_whose_rule_it_names():
    root = sound()
    both = KNOWN + '[[suppress]]\nrule = "SYM-001"\nreason = "old"\n'
    code, parsed, folder = configured(root, both)
    assert [each["title"] for each in parsed["findings"] if each["id"] == "CFG-001"] == [
        "a suppression of TKT-001 matches nothing"], parsed["findings"]
    checked = json.loads(run("check", stub("torch-2.9.1"), "--format", "json", cwd=folder).stdout)
    assert [each["title"] for each in checked["findings"] if each["id"] == "CFG-001"] == [
        "a suppression of SYM-001 matches nothing"]


def test_the_rules_that_are_said_to_be_the_doctors_are_those_that_it_alone_reports():
    rules = tomllib.loads((SOURCE / "rules" / "doctor.toml").read_text())["own-rules"]
    ids = {folder: set(re.findall(r'"([A-Z]+-\d{3})"', "".join(
        path.read_text() for path in (SOURCE / "analyzer").glob(folder)))) for folder in ("doctor/*.cpp", "checks/*.cpp")}
    alone = ids["doctor/*.cpp"] - ids["checks/*.cpp"]
    catalogue = re.findall(r'^id = "([A-Z]+-\d{3})"', (SOURCE / "rules/catalog.toml").read_text(), re.M)
    assert alone == {each for each in catalogue if each in rules or each.split("-")[0] in rules}


if __name__ == "__main__":
    main(globals())
