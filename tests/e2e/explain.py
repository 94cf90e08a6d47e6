"""explain: what it computes, from which words, and what it does with input that is none."""

import json
import os
import pathlib
import resource
import subprocess
import tempfile

from support import PROGRAM, answer, main, run, stub

PACKAGES = "/venv/lib/python3.12/site-packages/"
IB = "_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_ib"
JB = "_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_jb"


def explain(text, *arguments):
    code, parsed = answer("explain", "explain", "-", *arguments, input=text)
    return code, parsed["explanations"]


def first(text, *arguments):
    code, found = explain(text, *arguments)
    assert code == 0, text
    return found[0]


def undefined(symbol, file="sgl_kernel/common_ops.abi3.so", version=""):
    return f"ImportError: {PACKAGES}{file}: undefined symbol: {symbol}" + (f", version {version}" if version else "")


def commands(explanation):
    return [fix["command"] for fix in explanation["fixes"]]


def releases(explanation):
    return {form["symbol"]: form["releases"] for form in explanation["symbols"]}


def test_a_line_alone_names_both_signatures_their_releases_and_two_fixes():
    found = first(undefined(IB))
    assert releases(found)[IB] == "2.1.0 to 2.9.1"
    assert releases(found)[JB] == "2.10.0 to 2.13.0"
    (form,) = [form for form in found["symbols"] if form["symbol"] == JB]
    assert form["difference"] == "argument 4: int wanted, unsigned int exported"
    assert [fix["side"] for fix in found["fixes"]] == ["torch", "sgl-kernel"]
    assert commands(found) == ["pip install 'torch==2.9.1'", "pip install --upgrade sgl-kernel"]


def test_an_argument_is_the_text_itself():
    done = run("explain", undefined(IB))
    assert done.returncode == 0
    assert "2.1.0 to 2.9.1" in done.stdout and "2.10.0 to 2.13.0" in done.stdout, done.stdout


def test_another_symbol_in_the_line_is_another_answer():
    assert commands(first(undefined(JB)))[0] == "pip install 'torch==2.13.0'"
    assert commands(first(undefined("_ZN3c104cuda9SetDeviceEi")))[0] == "pip install 'torch==2.2.2'"
    assert commands(first(undefined("_ZN3c104cuda9SetDeviceEa")))[0] == "pip install 'torch==2.7.1'"


def test_a_release_in_the_text_chooses_the_side_to_go_to():
    set_device = undefined("_ZN3c104cuda9SetDeviceEa")
    assert commands(first(set_device + "\ntorch 2.2.1"))[0] == "pip install 'torch==2.3.0'"
    assert commands(first(set_device + "\ntorch 2.9.0"))[0] == "pip install 'torch==2.7.1'"
    here = first(set_device + "\ntorch 2.5.0")
    assert any("torch.__file__" in show for show in here["show"]), here


def test_the_string_abi_is_told_from_a_change_of_parameters():
    old = "_ZN3c105ErrorC2ENS_14SourceLocationESs"
    new = "_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
    flash = "flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so"
    assert first(undefined(old, flash))["kind"] == "cxx11-abi"
    assert first(undefined(new, flash))["kind"] == "cxx11-abi"
    assert first(undefined("_ZN3c104cuda9SetDeviceEa", flash))["kind"] == "cxx-symbol/torch-version"
    assert "cxx11abiTRUE" in json.dumps(first(undefined(old, flash))["fixes"])
    assert "cxx11abiFALSE" in json.dumps(first(undefined(new, flash))["fixes"])


def test_a_demangled_name_is_found_as_well():
    readable = "c10::cuda::c10_cuda_check_implementation(int, char const*, char const*, int, bool)"
    assert releases(first(undefined(readable)))[IB] == "2.1.0 to 2.9.1"
    stream = first("undefined symbol: c10::MessageLogger::stream[abi:cxx11]()")
    assert "_ZN3c1013MessageLogger6streamB5cxx11Ev" in releases(stream)


def test_a_name_that_was_cut_is_completed_or_said_to_be_cut():
    whole = first(undefined("_ZN3c104cuda20CUDACachingAllocator9alloca"))
    assert "_ZN3c104cuda20CUDACachingAllocator9allocatorE" in releases(whole)
    several = first(undefined("_ZN3c104cuda29c10_cuda_check_implementationEiPKc"))
    assert any("cut off" in each and JB in each for each in several["unknown"]), several["unknown"]


def test_a_later_function_names_the_release_that_brought_it():
    def cuda(symbol, soname="libcudart.so.12"):
        return commands(first(undefined(symbol, "torch/lib/libc10_cuda.so", soname)))[0]

    assert "'nvidia-cuda-runtime-cu12>=12.5'" in cuda("cudaGetDriverEntryPointByVersion")
    assert "'nvidia-cuda-runtime-cu12>=12.8'" in cuda("cudaLibraryGetKernel")
    assert "'nvidia-nvjitlink-cu12>=12.9'" in cuda("__nvJitLinkGetErrorLogSize_12_9", "libnvJitLink.so.12")
    for name, release in (("ncclCommRegister", "2.19.3"), ("ncclCommShrink", "2.27.3"), ("ncclCommResume", "2.29.7")):
        assert f"'nvidia-nccl-cu12>={release}'" in commands(first(undefined(name, "torch/lib/libtorch_cuda.so")))[0]


def test_the_cuda_of_a_soname_and_of_torch_decide_which_side_changes():
    def missing(soname, torch):
        return first(f"ImportError: {soname}: cannot open shared object file: No such file or directory\n"
                     f'  File "{PACKAGES}vllm/_custom_ops.py", line 1, in <module>\n{torch}')

    frame = f'  File "{PACKAGES}vllm/_custom_ops.py", line 1, in <module>\n'
    line = "ImportError: libcudart.so.{}: cannot open shared object file: No such file or directory\n"
    assert first(frame + line.format(12) + "torch 2.9.1+cu130")["fixes"][0]["side"] == "vllm"
    assert first(frame + line.format(12) + "torch 2.9.1+cu128")["fixes"][0]["side"] == "nvidia-cuda-runtime-cu12"
    assert first(frame + line.format(13) + "torch 2.9.1+cu130")["fixes"][0]["side"] == "nvidia-cuda-runtime"
    assert "several CUDA releases" in missing("libcurand.so.10", "")["sentence"]


def test_the_number_of_a_driver_decides_which_torch_it_serves():
    def driver(number):
        return first(f"The NVIDIA driver on your system is too old (found version {number}).\ntorch 2.15.0")

    assert commands(driver(12080))[0] == "pip install 'torch==2.10.0'"
    assert "580.65.06" in driver(12080)["sentence"]
    assert commands(driver(11040))[0] == ""


def test_an_architecture_names_the_first_toolkit_that_knows_it():
    def ptxas(arch):
        return first(f"ptxas fatal   : Value '{arch}' is not defined for option 'gpu-name'")["sentence"]

    assert "CUDA 12.9" in ptxas("sm_121a") and "CUDA 12.8" in ptxas("sm_100a") and "CUDA 11.8" in ptxas("sm_89")
    assert "CUDA 12.9 the last" in first("nvcc fatal   : Unsupported gpu architecture 'compute_70'")["sentence"]


def test_the_root_cause_comes_first_and_wrappers_last():
    text = f"""Traceback (most recent call last):
  File "{PACKAGES}sgl_kernel/load_utils.py", line 100, in _load
{undefined(IB)}

During handling of the above exception, another exception occurred:

ImportError: [sgl_kernel] CRITICAL: Could not load any common_ops library!
RuntimeError: operator sgl_kernel::rmsnorm does not exist
"""
    _, found = explain(text)
    assert [each["kind"] for each in found][0] == "cxx-symbol/torch-version"
    assert found[1]["hidden"] and found[-1]["hidden"]


def test_a_wrapper_alone_is_said_to_hide_its_cause_and_how_to_see_it():
    found = first("ImportError: [sgl_kernel] CRITICAL: Could not load any common_ops library!")
    assert found["hidden"] and "hides its cause" in found["sentence"]
    assert any("ctypes.CDLL" in show for show in found["show"])


def test_messages_in_other_languages_are_known_by_their_shape():
    german = f"ImportError: {PACKAGES}sgl_kernel/common_ops.abi3.so: undefiniertes Symbol: {IB}"
    assert commands(first(german))[0] == "pip install 'torch==2.9.1'"
    floor = f"ImportError: /lib/libc.so.6: Version »GLIBC_2.34« nicht gefunden (benötigt von {PACKAGES}a/_C.so)"
    assert first(floor)["kind"] == "symbol-version-floor"
    french = "ImportError: libcudart.so.13: ne peut ouvrir le fichier: Aucun fichier ou dossier de ce type"
    assert first(french)["kind"] == "missing-library"


def test_musl_has_its_own_words():
    assert first(f"Error relocating /x/_C.abi3.so: {IB}: symbol not found")["symbols"][0]["symbol"] == IB
    needed = "Error loading shared library libcudart.so.12: No such file or directory (needed by /x/_C.abi3.so)"
    assert first(needed)["kind"] == "missing-library"


def test_a_line_that_is_not_known_is_not_guessed_at():
    for text in ("it does not work", "ImportError: cannot import name 'x' from 'y'", "", "\n\n", "undefined symbol:"):
        code, found = explain(text)
        assert code == 3 and not found, text
    code, found = explain(undefined("some_function_of_nobody"))
    assert found[0]["kind"] == "missing-symbol" and not found[0]["fixes"]


def test_colours_and_carriage_returns_are_taken_out():
    line = undefined(IB)
    coloured = "\x1b[31m" + line[:60] + "\x1b[1;32m" + line[60:90] + "\x1b]0;title\x07" + line[90:] + "\x1b[0m\r\n"
    assert commands(first(coloured))[0] == "pip install 'torch==2.9.1'"


def test_binary_garbage_gets_a_clear_answer():
    done = subprocess.run([PROGRAM, "explain", "-"], input=os.urandom(3_000_000).replace(b"_Z", b""), capture_output=True)
    assert done.returncode == 3 and b"NOT UNDERSTOOD" in done.stdout, done.stdout
    utf16 = run("explain", "-", "--format", "json", input=undefined(IB).encode("utf-16-le").decode("latin-1"))
    assert utf16.returncode == 0


def test_a_log_of_100_mb_is_read_in_bounded_time_and_memory():
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "log"
        line = b"INFO 11-30 12:00:00 worker 7: undefined shared version error step took 12.5 ms, loss 1.234\n"
        with log.open("wb") as file:
            for _ in range(100):
                file.write(line * (1_000_000 // len(line)))
            file.write(b"x" * 5_000_000)  # a line without an end
            file.write(undefined(IB).encode())
        process = subprocess.Popen([PROGRAM, "explain", log, "--format", "json"], stdout=subprocess.PIPE)
        found = json.loads(process.stdout.read())
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        assert releases(found["explanations"][0])[IB] == "2.1.0 to 2.9.1"
        assert usage.ru_utime + usage.ru_stime < 20, usage  # processor time: other work does not count
        assert usage.ru_maxrss < 96 * 1024, usage.ru_maxrss


def test_many_different_errors_are_cut_and_said_to_be():
    text = "".join(undefined(f"ncclOf{i}") + "\n" for i in range(500))
    done = run("explain", "-", "--format", "json", input=text)
    parsed = json.loads(done.stdout)
    assert parsed["cut"] and len(parsed["explanations"]) <= 200


def test_the_wheels_confirm_the_line_and_tell_what_else_is_missing():
    text = undefined(IB, "sgl_kernel/sm90/common_ops.abi3.so")
    found = first(text, stub("sgl_kernel-0.3.21"), "--with", stub("torch-2.10.0"))
    assert any(each.startswith("confirmed: ") for each in found["confirmed"]), found["confirmed"]
    assert any("libc10_cuda.so" in each and "argument 4" in each for each in found["confirmed"])
    assert any("MessageLogger" in each for each in found["next"]), found["next"]
    wants = found["sides"][0]["owner"]
    assert (wants["name"], wants["version"]) == ("sgl-kernel", "0.3.21")


def test_a_fix_is_simulated_with_the_release_of_the_history_in_place():
    text = undefined(IB, "sgl_kernel/sm90/common_ops.abi3.so")
    fix = first(text, stub("sgl_kernel-0.3.21"), "--with", "torch==2.10.0")["fixes"][0]
    assert fix["command"] == "pip install 'torch==2.9.1'" and fix["verified"] and not fix["next"], fix


def test_wheels_that_do_not_lack_it_do_not_confirm_it():
    found = first(undefined(IB), stub("sgl_kernel-0.3.21"), "--with", stub("torch-2.9.1"))
    assert found["confirmed"] and found["confirmed"][0].startswith("not confirmed"), found["confirmed"]


def test_no_text_on_a_terminal_is_wrong_usage():
    master, slave = os.openpty()
    done = subprocess.run([PROGRAM, "explain"], stdin=slave, capture_output=True, text=True)
    os.close(master)
    os.close(slave)
    assert done.returncode == 2 and "no text" in done.stderr, done.stderr


resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
main(globals())
