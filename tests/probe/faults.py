"""The probe beside fake libraries that fail in every way: each fault told rightly, in time, and nothing left.

Every run carries a mark in its environment, which its children inherit; /proc is searched for it afterwards.
WHEELVET_PROBE_ROUNDS repeats the faults."""

import atexit
import concurrent.futures
import contextlib
import dataclasses
import json
import os
import pathlib
import pty
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "e2e"))

SOURCE = pathlib.Path(os.environ["WHEELVET_SOURCE"])
PROBE = os.environ["WHEELVET_PROBE"]
FAKES = pathlib.Path(os.environ["WHEELVET_PROBE_FAKES"])
SITE = FAKES / "env/lib/python3.12/site-packages/nvidia"
ROUNDS = int(os.environ.get("WHEELVET_PROBE_ROUNDS", "1"))
LIMIT = 3  # seconds per step, where one is to be reached
ENOUGH = 30  # where none is: other work on the machine takes its time
STEPS = ["driver", "kernel", "nvrtc", "curand", "cublas", "nccl", "nccl-ranks", "nccl-abort"]


def command(*arguments, env=True, limit=ENOUGH, driver=FAKES / "driver/libcuda.so.1"):
    return [PROBE, "--driver", str(driver), "--nvml",
            str(FAKES / "driver/libnvidia-ml.so.1"), *(["--env", str(FAKES / "env")] if env else []),
            "--sizes", "16k,64k", "--limit", str(limit), *map(str, arguments)]


def environment(folder, mark, settings):
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("NCCL_", "CUDA_", "FAKE_", "VIRTUAL_ENV", "SLURM_", "OMPI_", "PMI", "MASTER_"))
            and name not in ("RANK", "WORLD_SIZE", "LOCAL_RANK")}
    # In a build with AddressSanitizer too, a crash is to end by its signal.
    sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":handle_segv=0:handle_abort=0"
    return {**kept, "ASAN_OPTIONS": sanitizer, "WHEELVET_TEST_MARK": mark, "FAKE_NCCL_FOLDER": folder, "TMPDIR": folder, **settings}


def marked(mark):
    """Processes, zombies aside, that carry the mark: {id: command line}."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if f"WHEELVET_TEST_MARK={mark}".encode() in (entry / "environ").read_bytes():
                words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                found[int(entry.name)] = words
        except OSError:
            pass
    return found


def nothing_left(mark):
    """Asserts it; what is left is ended, so that a test that fails leaves nothing behind either."""
    left = marked(mark)
    for process in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    assert not left, f"left running: {left}"


class Run:
    """One run of the probe in JSON, validated; `step(name)` is what it says of a step."""

    def __init__(self, *arguments, env=True, driver=FAKES / "driver/libcuda.so.1", limit=ENOUGH, **settings):
        mark = uuid.uuid4().hex
        with tempfile.TemporaryDirectory() as folder:
            started = time.monotonic()
            done = subprocess.run([*command(*arguments, env=env, driver=driver, limit=limit), "--format", "json"], capture_output=True,
                                  text=True, timeout=200, env=environment(folder, mark, settings))
            self.seconds = time.monotonic() - started
            nothing_left(mark)
            self.files = [name for name in os.listdir(folder) if name.startswith("wheelvet-probe-")]
        self.code = done.returncode
        assert done.stdout, done.stderr
        self.report = json.loads(done.stdout)
        validate(self.report)
        assert not self.files, f"left behind: {self.files}"

    def step(self, name):
        (step,) = [step for step in self.report["steps"] if step["name"] == name]
        return step

    def outcomes(self):
        return {step["name"]: step["outcome"] for step in self.report["steps"]}


def validate(report, name="probe"):
    try:
        import jsonschema
    except ImportError:
        print("SKIPPED: probe_faults: the Python package jsonschema is not installed")
        sys.exit(77)
    schema = json.loads((SOURCE / f"rules/schema/{name}.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(report)


WORK = pathlib.Path(tempfile.mkdtemp(prefix="wheelvet-faults-"))
atexit.register(shutil.rmtree, WORK, ignore_errors=True)


def nvrtc_without_builtins():
    alone = WORK / "libnvrtc.so.13"
    shutil.copyfile(SITE / "cuda_nvrtc/lib/libnvrtc.so.13", alone)
    return alone


def job_of_a_wheel(*containers):
    """What `wheelvet probe` says of a wheel with these containers, as a file."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=WORK))
    job = folder / "job.json"
    job.write_text(json.dumps({"notes": [], "code": [library_of(folder, *containers)], "loads": []}))
    return job


@dataclasses.dataclass
class Fault:
    """What is done to which step, and what must then be said of it."""
    step: str
    settings: dict
    ended: str  # how its process ended, or one of them
    words: str  # of the reason
    outcome: str = "fail"
    arguments: tuple = ()


FAULTS = {
    "a child exits": Fault("kernel", {"FAKE_FAULT": "cuLaunchKernel:exit0"}, "exited", "exit code 0 and no answer"),
    "a child exits with a code": Fault("curand", {"FAKE_FAULT": "curandCreateGenerator:exit7"}, "exited", "code 7"),
    "a child aborts": Fault("nvrtc", {"FAKE_FAULT": "nvrtcVersion:abort"}, "signalled", "SIGABRT"),
    "a child crashes": Fault("cublas", {"FAKE_FAULT": "cublasCreate:segv"}, "signalled", "SIGSEGV"),
    "a child that crashes by itself": Fault("curand", {}, "signalled", "SIGSEGV", arguments=("--rehearse", "segv")),
    "a sticky error": Fault("kernel", {"FAKE_FAULT": "cuCtxSynchronize:code=700"}, "answered",
                            "700 CUDA_ERROR_ILLEGAL_ADDRESS"),
    "an illegal address in a kernel": Fault("kernel", {}, "answered", "700 CUDA_ERROR_ILLEGAL_ADDRESS",
                                            arguments=("--rehearse", "illegal-address")),
    "an endless kernel": Fault("kernel", {}, "timeout", "launch the kernel on GPU 0",
                               arguments=("--rehearse", "endless-kernel")),
    "a hang that ignores every signal": Fault("nvrtc", {"FAKE_FAULT": "nvrtcCompileProgram:hang"}, "timeout",
                                              "compile for GPU 0"),
    "1 GB of output": Fault("curand", {"FAKE_FAULT": "curandGenerateUniform:flood"}, "flood", "bytes of output"),
    "a forged result": Fault("cublas", {"FAKE_FAULT": "cublasSgemm:forge"}, "forged", "not believed"),
    "a forged result before the true one": Fault("cublas", {"FAKE_FAULT": "cublasSgemm:stray"}, "forged",
                                                 "not believed"),
    "wrong values": Fault("kernel", {"FAKE_CUDA_WRONG": "1"}, "answered", "1048582 of 1048583"),
    "another image than predicted": Fault("kernel", {"FAKE_CUDA_IMAGE": "80"}, "answered", "compiled to sm_80"),
    "biased random numbers": Fault("curand", {"FAKE_CURAND_BIASED": "1"}, "answered", "chi-square"),
    "a wrong product": Fault("cublas", {"FAKE_CUBLAS_WRONG": "1"}, "answered", "2866 of 2867"),
    "missing builtins of NVRTC": Fault("nvrtc", {}, "answered", "libnvrtc-builtins.so.13.0",
                                       arguments=("--nvrtc", nvrtc_without_builtins)),
    "an NVRTC too old for the GPU": Fault("nvrtc", {"FAKE_NVRTC_OLDEST": "100", "FAKE_NVRTC_NEWEST": "120"},
                                          "answered", "no architecture that sm_90 runs"),
    "no driver": Fault("driver", {"driver": "/nonexistent/libcuda.so.1"}, "answered",
                       "cannot open shared object file", "not_run"),
    "the toolkit's stub instead of the driver": Fault("driver", {"FAKE_FAULT": "cuInit:code=34"}, "answered", "stub",
                                                      "not_run"),
    "no visible GPU": Fault("driver", {"CUDA_VISIBLE_DEVICES": ""}, "answered", "CUDA_VISIBLE_DEVICES is ''", "not_run"),
    "a visible GPU that is none": Fault("driver", {"CUDA_VISIBLE_DEVICES": "7"}, "answered",
                                        "CUDA_VISIBLE_DEVICES is '7'", "not_run"),
    "a device that is not there": Fault("driver", {"CUDA_VISIBLE_DEVICES": "0,7"}, "answered", "names 2"),
    "ECC errors": Fault("driver", {"FAKE_NVML_ERRORS": "3"}, "answered", "3 uncorrected"),
    "drivers that disagree": Fault("driver", {"FAKE_FAULT": "cuInit:code=803"}, "answered",
                                   "803 CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"),
    "a driver below the floor": Fault("driver", {"FAKE_CUDA_VERSION": "12040"}, "answered", "580.65.06"),
    "a wheel without code for this GPU": Fault(
        "device-code", {}, "answered", "no code for GPU 0 (sm_90)",
        arguments=("--job", lambda: job_of_a_wheel(("FAKE CONTAINER cubins=80,100 kernels=a;", "none", ["a"])))),
    "a wheel whose code the driver refuses": Fault(
        "device-code", {}, "answered", "222 CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
        arguments=("--job", lambda: job_of_a_wheel(("FAKE CONTAINER ptx=80 isa=91 kernels=a;", "compute_80", ["a"])))),
    "a wheel whose kernel is not there": Fault(
        "device-code", {}, "answered", "500 CUDA_ERROR_NOT_FOUND",
        arguments=("--job", lambda: job_of_a_wheel(("FAKE CONTAINER cubins=90 kernels=b;", "sm_90", ["a"])))),
    "a typo in NCCL_ALGO": Fault("nccl", {"NCCL_ALGO": "Rng"}, "answered", "5 invalid usage"),
    "wrong sums": Fault("nccl", {"FAKE_NCCL_WRONG": "1"}, "answered", "all-reduce"),
    "NCCL hangs at the start": Fault("nccl", {"FAKE_FAULT": "ncclCommInitAll:hang"}, "timeout",
                                     "ncclCommInitAll over 2 GPUs"),
    "an abort that hangs": Fault("nccl-abort", {"FAKE_FAULT": "ncclCommAbort:hang"}, "timeout", "ncclCommAbort"),
    "a rank killed in a collective": Fault("nccl-ranks", {"FAKE_FAULT": "ncclReduceScatter@1:kill"}, "signalled",
                                           "rank 1: its process was ended by signal 9"),
    "a rank that fails in a collective": Fault("nccl-ranks", {"FAKE_FAULT": "ncclBroadcast@0:code=2"}, "answered",
                                               "rank 0: broadcast answered 2 unhandled system error"),
    "an asynchronous error": Fault("nccl-ranks", {"FAKE_FAULT": "ncclSend@1:hang,ncclCommGetAsyncError@0:code=6"},
                                   "answered", "rank 0: send/recv answered 6"),
    "an initialisation that fails": Fault("nccl-ranks", {"FAKE_FAULT": "ncclCommInitRank@1:code=2"}, "stopped",
                                          "rank 1: ncclCommInitRank answered 2"),
    "an initialisation that one rank never joins": Fault("nccl-ranks", {"FAKE_FAULT": "ncclCommInitRank@1:hang"},
                                                         "timeout", "initialise the communicator"),
    "versions of NCCL mixed": Fault("nccl-ranks", {"FAKE_NCCL_VERSION_RANK1": "22703"}, "answered",
                                    "rank 0 runs NCCL 22809, this rank 22703"),
}


def check_fault(name):
    fault = FAULTS[name]
    arguments = [each() if callable(each) else each for each in fault.arguments]
    run = Run("--steps", fault.step, *arguments, limit=LIMIT, FAKE_CUDA_DEVICES="2", **fault.settings)
    step = run.step(fault.step)
    code = {"fail": 1, "not_run": 3}[fault.outcome]
    assert run.code == code and run.report["verdict"] == fault.outcome, (name, run.code, step)
    assert step["outcome"] == fault.outcome, (name, step)
    assert fault.words in step["reason"], (name, step["reason"])
    assert fault.ended in [process["ended"] for process in step["processes"]], (name, step["processes"])
    assert step["seconds"] < LIMIT + 1, (name, step["seconds"])


def test_every_fault_is_told_rightly_in_time_and_leaves_nothing():
    # Several times each, so that it is ROUNDS runs or more.
    names = [name for name in FAULTS for _ in range(-(-ROUNDS // len(FAULTS)))]
    # Mostly waiting: more at a time than there are processors.
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        wrong = [error for error in pool.map(told_wrongly, names) if error]
    print(f"       {len(names) - len(wrong)} of {len(names)} faults told rightly")
    assert not wrong, wrong


def told_wrongly(name):
    try:
        check_fault(name)
    except AssertionError as error:
        return f"{name}: {error}"
    return None


def test_on_a_healthy_machine_every_step_passes():
    run = Run(FAKE_CUDA_DEVICES="2")
    assert run.code == 0, run.report
    assert run.outcomes() == {name: "pass" for name in STEPS}
    assert run.report["verdict"] == "pass" and run.report["complete"]
    assert len(run.report["devices"]) == 2
    assert {(link["from"], link["to"], link["type"]) for link in run.report["links"]} == \
        {(0, 1, "NVLINK"), (1, 0, "NVLINK")}
    for name in ("nccl", "nccl-ranks"):
        step = run.step(name)
        assert len(step["figures"]) == 10 and all(figure["correct"] for figure in step["figures"])
        assert all(figure["bus_gb_s"] > 0 for figure in step["figures"])
        assert step["nccl"]["channels"] == 24 and step["nccl"]["transports"] == ["P2P/direct"]
        assert step["nccl"]["settings"] == ["NCCL_NVLS_ENABLE=0"]
    assert len(run.step("nccl-ranks")["processes"]) == 2


def test_the_libraries_asked_are_those_of_the_environment():
    run = Run("--steps", "nvrtc,curand,cublas,nccl")
    paths = {library["path"] for step in run.report["steps"] for library in step["libraries"]}
    for path in ("cuda_nvrtc/lib/libnvrtc.so.13", "cuda_nvrtc/lib/libnvrtc-builtins.so.13.0",
                 "curand/lib/libcurand.so.10", "cublas/lib/libcublas.so.13", "nccl/lib/libnccl.so.2"):
        assert str((SITE / path).resolve()) in paths, paths


def test_one_gpu_is_enough():
    run = Run()
    assert run.code == 0, run.report
    assert all(figure["bus_gb_s"] is None for figure in run.step("nccl")["figures"])


def test_without_a_driver_nothing_is_run_and_nothing_passes():
    run = Run(driver="/nonexistent/libcuda.so.1")
    assert run.code == 3 and run.report["verdict"] == "not_run"
    assert set(run.outcomes().values()) == {"not_run"}
    assert not run.report["complete"]


def test_a_library_that_is_none_fails_with_the_loaders_words():
    run = Run("--steps", "curand", "--curand", SOURCE / "README.md")
    assert run.step("curand")["outcome"] == "fail"
    assert "invalid ELF header" in run.step("curand")["reason"]


def test_a_failed_step_does_not_stop_the_next():
    run = Run("--steps", "kernel,nvrtc,curand,cublas,nccl", FAKE_FAULT="cuLaunchKernel:segv,cublasCreate:abort")
    outcomes = run.outcomes()
    assert outcomes["kernel"] == outcomes["nvrtc"] == outcomes["cublas"] == "fail"
    assert outcomes["curand"] == outcomes["nccl"] == "pass"


def test_what_nobody_asked_is_neither_pass_nor_failure():
    run = Run(env=False)
    assert run.code == 0
    outcomes = run.outcomes()
    assert outcomes["driver"] == outcomes["kernel"] == "pass"
    assert {outcomes[name] for name in STEPS[2:]} == {"not_asked"}


def test_a_step_named_without_its_library_did_not_run():
    run = Run("--steps", "nvrtc", env=False)
    assert run.code == 3 and run.outcomes()["nvrtc"] == "not_run"


def test_a_child_that_leaves_a_daemon_behind_leaves_nothing():
    run = Run("--steps", "curand", FAKE_FAULT="curandCreateGenerator:daemon")
    assert run.code == 0  # Run has looked through /proc


def test_the_surviving_rank_leaves_by_abort():
    run = Run("--steps", "nccl-ranks", FAKE_CUDA_DEVICES="2", FAKE_FAULT="ncclReduceScatter@1:kill")
    survivor, killed = run.step("nccl-ranks")["processes"]
    assert killed["ended"] == "signalled" and killed["code"] == signal.SIGKILL
    assert survivor["ended"] == "answered" and "ncclCommAbort" in survivor["stage"], survivor


def test_tuning_tells_which_setting_harms_and_which_does_nothing():
    with tempfile.TemporaryDirectory() as folder:
        record = pathlib.Path(folder) / "record.json"
        run = Run("--steps", "nccl-ranks", "--tune", "--rounds", "2", "--record", record, "--sizes", "16k",
                  "--keep", "NCCL_BUFFSIZE", limit=60, FAKE_CUDA_DEVICES="2", FAKE_NCCL_SLOW="NCCL_PROTO",
                  NCCL_PROTO="LL", NCCL_NTHREADS="256", NCCL_BUFFSIZE="1048576", NCCL_DEBUG="INFO")
        written = json.loads(record.read_text())
    validate(written, "tuning")
    assert run.code == 0, run.report
    changes = {(each["setting"], cell["collective"]): cell["change"]
               for each in run.report["tuning"]["settings"] for cell in each["cells"]}
    settings = [each["setting"] for each in run.report["tuning"]["settings"]]
    assert settings == ["NCCL_NTHREADS=256", "NCCL_PROTO=LL", "all of them"], settings
    # 3 ms on top of 0.1 ms, and of what other work on the machine adds: the sign is what counts. What is
    # beyond the noise is tested on figures, in units.cpp.
    assert changes[("NCCL_PROTO=LL", "all-reduce")] < 0, changes
    assert changes[("all of them", "all-reduce")] < 0, changes
    assert written["settings"] == run.report["tuning"]["settings"]
    assert written["gpus"] == ["Fake GPU 0 \033[31m", "Fake GPU 1 \033[31m"] and written["nccl"]


def test_tuning_without_a_setting_to_vary_did_not_run():
    run = Run("--steps", "driver", "--tune")
    assert run.code == 3 and run.outcomes()["nccl-tune"] == "not_run"


def test_anonymous_leaves_out_what_names_the_host():
    run = Run("--anonymous", "--steps", "kernel,nvrtc,nccl", FAKE_CUDA_DEVICES="2", CUDA_VISIBLE_DEVICES="0,1")
    text = json.dumps(run.report)
    assert run.code == 0 and run.report["anonymous"]
    for secret in (os.uname().nodename, "a0a0a0a0", "0000:00:0", str(FAKES), os.environ["HOME"] + "/"):
        assert secret not in text, secret
    assert run.report["devices"][0]["uuid"] == ""


def test_the_samples_in_the_documentation_fit_the_schemas():
    samples = SOURCE / "docs/samples"
    for sample in samples.glob("probe-*.json"):
        report = json.loads(sample.read_text())
        validate(report)
        assert report["anonymous"] and report["host"]["name"] == ""
    validate(json.loads((samples / "tuning-2xH200.json").read_text()), "tuning")


def test_text_escapes_what_a_driver_says():
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command("-v", "--steps", "kernel"), capture_output=True, text=True, timeout=60,
                              env=environment(folder, "text", {}))
    assert done.returncode == 0 and done.stdout.startswith("PASS"), done.stdout
    assert "\033" not in done.stdout and "Fake GPU 0 \\x1b[31m" in done.stdout, done.stdout


def test_wrong_usage_is_2_and_an_unwritable_report_is_3():
    assert subprocess.run([PROBE, "--steps", "nonsense"], capture_output=True).returncode == 2
    assert subprocess.run([PROBE, "--sizes", "3"], capture_output=True).returncode == 2
    assert subprocess.run([PROBE, "--env", "/nonexistent"], capture_output=True).returncode == 2
    assert subprocess.run(command("-o", "/nonexistent/report"), capture_output=True).returncode == 3


def test_wheelvet_probe_is_the_program_beside_it():
    wheelvet = os.environ["WHEELVET"]
    beside = subprocess.run([wheelvet, "probe", "--driver", "/nonexistent", "-q"], capture_output=True, text=True)
    assert beside.returncode == 3 and beside.stdout.startswith("NOT RUN"), beside
    assert subprocess.run([wheelvet, "probe", "--steps", "nonsense"], capture_output=True).returncode == 2
    with tempfile.TemporaryDirectory() as folder:
        alone = pathlib.Path(folder) / "wheelvet"
        alone.write_bytes(pathlib.Path(wheelvet).read_bytes())
        alone.chmod(0o755)
        done = subprocess.run([alone, "probe"], capture_output=True, text=True)
    assert done.returncode == 3 and f"{folder}/wheelvet-probe" in done.stderr, done


def test_a_step_is_started_by_the_probe_alone():
    done = subprocess.run([PROBE, "--step", "kernel", "--channel", "0"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)
    assert done.returncode == 4 and done.stdout == "", done


@contextlib.contextmanager
def started(arguments, **options):
    """A process that is gone afterwards, whatever a test finds."""
    process = subprocess.Popen(arguments, **options)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_for(words, mark, process):
    """Until a process with these words in its command line runs."""
    while not any(words in line for line in marked(mark).values()):
        assert process.poll() is None, "the probe ended before"
        time.sleep(0.02)


def interrupt(signal_number, *arguments, words="--step cublas", **settings):
    mark = uuid.uuid4().hex
    with tempfile.TemporaryDirectory() as folder:
        settings = settings or {"FAKE_FAULT": "cublasSgemm:hang"}
        with started(command("--format", "json", *arguments, limit=30), stdout=subprocess.PIPE, text=True,
                     env=environment(folder, mark, settings)) as process:
            wait_for(words, mark, process)
            time.sleep(0.2)
            began = time.monotonic()
            process.send_signal(signal_number)
            output, _ = process.communicate(timeout=20)
            seconds = time.monotonic() - began
    assert seconds < 1.5
    nothing_left(mark)
    return process.returncode, json.loads(output)


def test_ctrl_c_leaves_no_process_and_a_partial_report():
    code, report = interrupt(signal.SIGINT)
    validate(report)
    outcomes = {step["name"]: step["outcome"] for step in report["steps"]}
    assert code == 130 and report["verdict"] == "interrupted"
    assert outcomes["curand"] == "pass" and outcomes["cublas"] == "interrupted"
    assert outcomes["nccl"] == "not_run"


def test_ctrl_c_while_a_module_is_opened_or_settings_are_swept_leaves_no_process():
    job = WORK / "hangs.json"
    job.write_text(json.dumps({"notes": [], "code": [], "loads": [load_of(MODULE)]}))
    code, report = interrupt(signal.SIGINT, "--steps", "load", "--job", job, words=str(MODULE), FAKE_FAULT="open:hang")
    validate(report)
    assert code == 130 and report["steps"][-1]["outcome"] == "interrupted", report
    code, report = interrupt(signal.SIGTERM, "--steps", "driver", "--sweep", words="--step nccl-ranks",
                             FAKE_FAULT="ncclAllReduce:hang", FAKE_CUDA_DEVICES="2")
    validate(report)
    assert code == 130 and report["steps"][-1]["name"] == "nccl-sweep", report
    assert report["steps"][-1]["outcome"] == "interrupted" and report["sweep"]["best"] == [], report


def on_a_terminal(*arguments, **settings):
    """What the probe writes to a terminal that its standard error is."""
    control, terminal = pty.openpty()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(command(*arguments, limit=LIMIT), stdout=subprocess.DEVNULL, stderr=terminal, timeout=60,
                       env=environment(folder, folder, settings))
    os.close(terminal)
    written = b""
    with contextlib.suppress(OSError):  # the end of a terminal is an error
        while part := os.read(control, 65536):
            written += part
    os.close(control)
    return written.decode()


def test_a_long_step_shows_on_a_terminal_what_it_is_at_and_takes_it_back():
    hang = {"FAKE_FAULT": "nvrtcCompileProgram:hang"}
    shown = on_a_terminal("--steps", "nvrtc", **hang)
    assert "nvrtc  1 s: compile for GPU 0 (sm_90)" in shown, shown
    assert shown.endswith("\r\033[K"), shown
    assert on_a_terminal("--steps", "nvrtc", "-q", **hang) == ""
    assert on_a_terminal("--steps", "kernel") == "", "nothing in the first second"


def test_the_probe_killed_outright_takes_its_steps_along():
    mark = uuid.uuid4().hex
    with tempfile.TemporaryDirectory() as folder:
        job = WORK / "hangs.json"
        job.write_text(json.dumps({"notes": [], "code": [], "loads": [load_of(MODULE)]}))
        for words, arguments, fault in (("--step kernel", ("--steps", "kernel"), "cuLaunchKernel:hang"),
                                        (str(MODULE), ("--steps", "load", "--job", job), "open:hang")):
            with started(command(*arguments, limit=30), stdout=subprocess.DEVNULL,
                         env=environment(folder, mark, {"FAKE_FAULT": fault})) as process:
                wait_for(words, mark, process)
                time.sleep(0.3)
            for _ in range(100):  # a Python that only starts ends itself a moment later
                if marked(mark):
                    time.sleep(0.05)
            nothing_left(mark)


def test_children_that_are_not_the_probes_are_left_alone():
    with tempfile.TemporaryDirectory() as folder:
        script = "sleep 30 >&- 2>&- & echo $!; exec \"$@\""
        done = subprocess.run(["sh", "-c", script, "sh", *command("--steps", "driver", "-q")],
                              capture_output=True, text=True, timeout=200, env=environment(folder, "x", {}))
        os.kill(int(done.stdout.split()[0]), signal.SIGTERM)  # raises when it is gone


class JobRun(Run):
    """A run over a job as `wheelvet probe` makes it, `code` and `loads` being its lists."""

    def __init__(self, code=(), loads=(), notes=(), **settings):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({"notes": list(notes), "code": list(code), "loads": list(loads)}, file)
            file.flush()
            steps = ["device-code"] * bool(code) + ["load"] * bool(loads)
            super().__init__("--steps", ",".join(steps), "--job", file.name, **settings)

    def entry(self, number=0):
        return [step for step in self.report["steps"] if step["name"] in ("device-code", "load")][number]

    def disagreements(self, number=0):
        return [check for check in self.entry(number)["checks"] if not check["agrees"]]


def library_of(folder, *containers, optional=False):
    """A file of fake containers, each given by its text, its prediction for sm_90 and its kernels."""
    path = pathlib.Path(folder) / "library.so"
    data, entries = b"\x7fELF", []
    for text, predicted, kernels in containers:
        entries.append({"offset": len(data), "size": len(text), "predicted": {"9.0": predicted}, "kernels": kernels})
        data += text.encode()
    path.write_bytes(data)
    return {"library": "pkg/library.so", "file": str(path), "optional": optional, "containers": entries}


def test_device_code_is_loaded_and_its_kernels_are_found():
    with tempfile.TemporaryDirectory() as folder:
        run = JobRun([library_of(
            folder, ("FAKE CONTAINER cubins=75,90 kernels=one,two;", "sm_90", ["one", "two"]),
            ("FAKE CONTAINER cubins=75 ptx=80 isa=84 kernels=three;", "compute_80", ["three"]),
            ("FAKE CONTAINER cubins=100 kernels=four;", "none", ["four"]))], FAKE_CUDA_DEVICES="2", notes=["a note"])
    assert run.code == 0 and run.entry()["outcome"] == "pass", run.entry()
    assert run.entry()["subject"] == "pkg/library.so" and "a note" in run.report["notes"]
    seen = {check["subject"]: check["observed"] for check in run.entry()["checks"]}
    assert seen["GPU 1 (sm_90) containers"] == "2 load, 1 have nothing for it", seen
    assert seen["GPU 1 (sm_90) kernels"] == "3 found by name", seen


def test_a_library_without_code_for_this_gpu_fails_as_foretold():
    with tempfile.TemporaryDirectory() as folder:
        text = "FAKE CONTAINER cubins=80,100 ptx=100 isa=90 kernels=a;"
        run = JobRun([library_of(folder, (text, "none", ["a"]))])
        spare = JobRun([library_of(folder, (text, "none", ["a"]), optional=True)])
    assert run.code == 1 and "no code for GPU 0 (sm_90)" in run.entry()["reason"], run.entry()
    assert not run.disagreements(), run.entry()
    assert spare.code == 0, "one of several builds need not serve this GPU"


def test_device_code_that_is_not_as_predicted_is_told():
    wrong = {
        ("FAKE CONTAINER cubins=100 kernels=a;", "sm_90", "209 CUDA_ERROR_NO_BINARY_FOR_GPU"),
        ("FAKE CONTAINER ptx=80 isa=91 kernels=a;", "compute_80", "222 CUDA_ERROR_UNSUPPORTED_PTX_VERSION"),
        ("FAKE CONTAINER cubins=90 kernels=b;", "sm_90", "500 CUDA_ERROR_NOT_FOUND"),
        ("FAKE CONTAINER ptx=80 isa=90 kernels=a;", "sm_89", "sm_90 of compute_80"),
        ("FAKE CONTAINER cubins=90 kernels=a;", "none", "sm_90 of compute_90"),
    }
    for text, predicted, observed in wrong:
        with tempfile.TemporaryDirectory() as folder:
            good = ("FAKE CONTAINER cubins=90 kernels=a;", "sm_90", ["a"])
            run = JobRun([library_of(folder, good, (text, predicted, ["a"]))])
        assert run.code == 1 and run.entry()["outcome"] == "fail", (text, run.entry())
        assert observed in [check["observed"] for check in run.disagreements()], (text, run.entry())


def test_device_code_that_ends_the_process_names_the_container():
    with tempfile.TemporaryDirectory() as folder:
        run = JobRun([library_of(folder, ("FAKE CONTAINER cubins=90;", "sm_90", []))],
                     FAKE_FAULT="cuModuleLoadDataEx:segv")
        cut = library_of(folder, ("FAKE CONTAINER cubins=90;", "sm_90", []))
        cut["containers"][0]["size"] = 1 << 40
        long = JobRun([cut])
        cut["containers"][0]["size"] = 1 << 20
        short = JobRun([cut])
    assert "SIGSEGV" in run.entry()["reason"] and "container at 0x4" in run.entry()["reason"], run.entry()
    assert long.code == 1 and "bytes" in long.entry()["reason"]
    assert short.code == 1 and "ends before" in short.entry()["reason"]


def load_of(*opens, predicted="loads", objects=None):
    paths = [str(path) for path in opens]
    return {"root": "pkg/module.so", "predicted": predicted, "python": sys.executable,
            "opens": [{"path": path, "global": False, "optional": False, "lazy": False} for path in paths],
            "objects": paths if objects is None else objects}


MODULE = FAKES / "module/module.so"
CURAND = SITE / "curand/lib/libcurand.so.10"


def test_a_root_is_opened_by_python_and_its_maps_are_compared():
    run = JobRun(loads=[load_of(CURAND, MODULE)])
    assert run.code == 0 and run.entry()["outcome"] == "pass", run.entry()
    assert run.entry()["subject"] == "pkg/module.so"
    other = JobRun(loads=[load_of(MODULE, objects=["/elsewhere/module.so"])])
    assert other.code == 1 and other.disagreements()[0]["observed"] == str(MODULE.resolve()), other.entry()


def test_a_root_that_does_not_open_fails_in_the_loaders_words():
    run = JobRun(loads=[load_of(SOURCE / "README.md"), load_of(SOURCE / "README.md", predicted="fails: it is text")])
    assert run.code == 1 and "invalid ELF header" in run.entry(0)["reason"], run.entry(0)
    assert run.disagreements(0) and not run.disagreements(1), run.report["steps"]
    assert "as predicted" in run.entry(1)["reason"]


def test_a_module_that_ends_its_process_is_named():
    for fault, words in (("open:abort", "SIGABRT"), ("open:exit7", "exit code 7"), ("open:kill", "SIGKILL")):
        run = JobRun(loads=[load_of(CURAND, MODULE)], FAKE_FAULT=fault)
        assert run.code == 1 and words in run.entry()["reason"], (fault, run.entry())
        assert str(MODULE) in run.entry()["reason"]
    hang = JobRun(loads=[load_of(MODULE)], FAKE_FAULT="open:hang", limit=LIMIT)
    assert hang.entry()["processes"][0]["ended"] == "timeout" and str(MODULE) in hang.entry()["reason"]


def test_a_step_over_nothing_did_not_run():
    run = Run("--steps", "load")
    assert run.code == 3 and run.step("load")["outcome"] == "not_run", run.report


def test_a_job_that_is_none_is_an_internal_error():
    done = subprocess.run(command("--job", SOURCE / "README.md"), capture_output=True, text=True)
    assert done.returncode == 4 and done.stdout == "", done


def test_a_sweep_tries_every_block_and_compares_the_fastest():
    # Which block helps is tested on figures, in units.cpp.
    run = Run("--steps", "nccl-ranks", "--sweep", "--grid", "NCCL_PROTO=Simple", "--grid", "NCCL_NTHREADS=256",
              "--rounds", "2", "--sizes", "16k", limit=60, FAKE_CUDA_DEVICES="2", NCCL_PROTO="LL")
    swept = run.report["sweep"]
    assert run.code == 0 and swept["tried"] == 4 and swept["failed"] == 0, run.report
    assert len(swept["finals"]) <= 3 and all(len(final["cells"]) == 10 for final in swept["finals"]), swept


def test_a_block_that_fails_is_left_out_of_the_sweep():
    run = Run("--steps", "nccl-ranks", "--sweep", "--grid", "NCCL_ALGO=Rng", "--rounds", "2", "--sizes", "16k",
              FAKE_CUDA_DEVICES="2", FAKE_NCCL_STRICT="1")
    swept = run.report["sweep"]
    assert run.code == 0 and swept["tried"] == swept["failed"] == 1 and swept["best"] == [], run.report


def test_a_grid_that_is_none_is_wrong_usage():
    for grid in ("NCCL_ALGO", "LD_PRELOAD=x", "NCCL_ALGO=", "NCCL_ALGO=a;b", "NCCL_X=" + ",".join("123456789") * 8):
        done = subprocess.run([PROBE, "--sweep", "--grid", grid], capture_output=True, text=True)
        assert done.returncode == 2, (grid, done)


class Launched:
    """Ranks as a launcher starts them, here on one host; `report` is rank 0's, `codes` are by rank started."""

    # How each launcher tells a process its rank.
    VARIABLES = {
        "torchrun": lambda rank, ranks: {"RANK": rank, "WORLD_SIZE": ranks, "LOCAL_RANK": rank},
        "openmpi": lambda rank, ranks: {"OMPI_COMM_WORLD_RANK": rank, "OMPI_COMM_WORLD_SIZE": ranks,
                                        "OMPI_COMM_WORLD_LOCAL_RANK": rank},
        "pmi": lambda rank, ranks: {"PMI_RANK": rank, "PMI_SIZE": ranks, "MPI_LOCALRANKID": rank},
        "slurm": lambda rank, ranks: {"SLURM_PROCID": rank, "SLURM_NTASKS": ranks, "SLURM_LOCALID": rank,
                                      "SLURM_JOB_ID": 7, "SLURM_STEP_ID": 0},
    }

    def __init__(self, ranks, *arguments, launcher="torchrun", started=None, limit=ENOUGH, address=True,
                 visit=None, **settings):
        mark = uuid.uuid4().hex
        port = free_port()
        with tempfile.TemporaryDirectory() as folder:
            processes = []
            for rank in range(ranks) if started is None else started:
                own = {name: str(value) for name, value in self.VARIABLES[launcher](rank, ranks).items()}
                if address:
                    own |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
                own |= {"FAKE_CUDA_DEVICES": str(ranks), **settings}
                processes.append(subprocess.Popen(
                    command(*arguments, "--launcher", "auto", "--format", "json", limit=limit), text=True,
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(folder, mark, own)))
            try:
                if visit:
                    visit(port)
                self.said = [process.communicate(timeout=200) for process in processes]
            finally:
                for process in processes:
                    process.kill()
            nothing_left(mark)
        self.codes = [process.returncode for process in processes]
        assert all(not out for out, _ in self.said[1:]), "only rank 0 reports"
        if self.said[0][0]:
            self.report = json.loads(self.said[0][0])
            validate(self.report)

    def nccl(self):
        (step,) = [step for step in self.report["steps"] if step["name"] == "nccl-hosts"]
        return step


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def test_ranks_of_every_launcher_meet_and_rank_0_reports_for_all():
    for launcher in Launched.VARIABLES:
        run = Launched(2, launcher=launcher)
        step = run.nccl()
        assert run.codes == [0, 0] and run.report["verdict"] == "pass", (launcher, run.said)
        assert run.report["world"]["launcher"] == launcher and run.report["world"]["ranks"] == 2
        assert [process["rank"] for process in step["processes"]] == [0, 1]
        assert len(step["figures"]) == 10 and all(figure["ranks"] == 2 for figure in step["figures"])
        assert all(figure["correct"] for figure in step["figures"])
        assert step["nccl"]["channels"] == 24


def test_a_rank_killed_on_another_host_is_named_and_the_others_leave():
    run = Launched(3, FAKE_FAULT="ncclReduceScatter@1:kill")
    assert run.codes == [1, 1, 1], run.said
    step = run.nccl()
    assert "rank 1 on" in step["reason"] and "SIGKILL" in step["reason"], step["reason"]
    assert [process["ended"] for process in step["processes"]] == ["answered", "signalled", "answered"]


def test_a_rank_that_never_comes_is_named():
    run = Launched(3, started=[0, 1], limit=LIMIT)
    assert run.codes == [1, 1], run.said
    assert run.nccl()["reason"].startswith("rank 2 of 3 never came to 127.0.0.1:"), run.nccl()["reason"]
    assert run.nccl()["processes"][2]["ended"] == "absent"


def test_a_whole_host_that_dies_is_told_as_lost():
    def kill_rank_1(_):
        mine = os.getpid()
        for _ in range(2000):
            for entry in pathlib.Path("/proc").iterdir():
                if not entry.name.isdigit():
                    continue
                try:
                    words = (entry / "cmdline").read_bytes()
                    parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
                    grand = int(pathlib.Path(f"/proc/{parent}/stat").read_text().rsplit(")", 1)[1].split()[1])
                except OSError:
                    continue
                if b"nccl-hosts" in words and b"--rank\x001\x00" in words and grand == mine:
                    os.kill(parent, signal.SIGKILL)
                    return
            time.sleep(0.02)
        raise AssertionError("rank 1 never ran its step")

    run = Launched(2, visit=kill_rank_1, FAKE_FAULT="ncclAllReduce@1:hang")
    assert run.codes[0] == 1, run.said
    assert run.nccl()["processes"][1]["ended"] == "lost", run.nccl()
    assert "rank 1" in run.nccl()["reason"] and "connection" in run.nccl()["reason"]


def test_ranks_without_a_rank_0_say_so():
    run = Launched(2, started=[1], limit=LIMIT)
    assert run.codes == [1] and "rank 0 does not answer at 127.0.0.1:" in run.said[0][1], run.said


def test_versions_of_nccl_that_differ_between_hosts_are_told_before_they_hang():
    run = Launched(2, FAKE_NCCL_VERSION_RANK1="22703")
    assert run.codes == [1, 1]
    assert "rank 0 runs NCCL 22809, this rank 22703" in run.nccl()["reason"]


def test_no_driver_on_one_host_is_no_run_of_nccl():
    run = Launched(2, FAKE_FAULT="cuInit@1:code=100")
    assert run.codes == [3, 3] and run.report["verdict"] == "not_run", run.report
    assert run.nccl()["outcome"] == "not_run" and "rank 1" in run.nccl()["reason"]


def test_a_stranger_at_the_port_is_turned_away():
    def knock(port):
        for _ in range(200):
            try:
                with socket.create_connection(("127.0.0.1", port), timeout=5) as one:
                    one.sendall(b"GET / HTTP/1.1\r\n\r\n")
                    one.recv(1)
                    return
            except OSError:
                time.sleep(0.02)

    run = Launched(2, started=[0], limit=LIMIT, visit=knock)
    assert run.codes == [1]
    assert any("turned away" in note for note in run.report["notes"]), run.report["notes"]


def test_a_launcher_without_an_address_or_without_variables_is_wrong_usage():
    run = Launched(2, launcher="openmpi", started=[0], address=False)
    assert run.codes == [2] and "--rendezvous" in run.said[0][1], run.said
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command("--launcher", "auto"), capture_output=True, text=True,
                              env=environment(folder, "x", {}))
    assert done.returncode == 2 and "SLURM_PROCID" in done.stderr, done
    assert subprocess.run([PROBE, "--rendezvous", "a:1"], capture_output=True).returncode == 2


if __name__ == "__main__":
    from support import main
    main(globals())
