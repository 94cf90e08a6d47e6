"""What `wheelvet` foretells of wheels and environments, the probe's answer beside fake libraries, and `check` that
takes that answer as facts."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from faults import FAKES, MODULE, SITE, SOURCE, WORK, environment, nothing_left, validate

WHEELVET = os.environ["WHEELVET"]
DEVICE_CODE = SOURCE / "fixtures/device_code"


def wheel(name, files):
    path = WORK / f"{name}-1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, data in files.items():
            archive.writestr(f"{name}/{member}", data)
        archive.writestr(f"{name}-1.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        archive.writestr(f"{name}-1.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        rows = [*archive.namelist(), f"{name}-1.dist-info/RECORD"]
        archive.writestr(f"{name}-1.dist-info/RECORD", "".join(f"{row},,\n" for row in rows))
    return path


def fatbins(**members):
    return {f"{name}.fatbin": (DEVICE_CODE / f"{fixture}.fatbin").read_bytes() for name, fixture in members.items()}


def probe(*arguments, **settings):
    """Exit code and validated report of `wheelvet probe` beside the fake driver."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [WHEELVET, "probe", "--driver", FAKES / "driver/libcuda.so.1", "--nvml", FAKES / "driver/libnvidia-ml.so.1",
             "--sizes", "16k", "--format", "json", *map(str, arguments)],
            capture_output=True, text=True, timeout=200, env=environment(folder, folder, settings))
        nothing_left(folder)
        assert not os.listdir(folder), os.listdir(folder)
    assert done.stdout, done.stderr
    report = json.loads(done.stdout)
    validate(report)
    return done.returncode, report


def steps(report, name):
    return {step["subject"]: step for step in report["steps"] if step["name"] == name}


def test_a_wheels_device_code_is_chosen_as_foretold():
    made = wheel("fits", fatbins(plain="sm_90", own="sm_90a", older="sm_75", both="two", text="ptx_only"))
    code, report = probe(made, "--steps", "device-code", FAKE_CUDA_DEVICES="2")
    assert code == 0, report
    found = steps(report, "device-code")
    assert set(found) == {f"fits/{name}.fatbin" for name in ("plain", "own", "older", "both", "text")}, set(found)
    for subject, image in (("plain", "sm_90"), ("own", "sm_90a"), ("older", "compute_75"), ("both", "sm_90a"),
                           ("text", "compute_90")):
        checks = found[f"fits/{subject}.fatbin"]["checks"]
        for gpu in (0, 1):
            seen = {check["subject"].split()[-1]: check["observed"] for check in checks
                    if check["subject"].startswith(f"GPU {gpu} ")}
            assert seen == {"containers": "1 load, 0 have nothing for it", "images": f"1 x {image}",
                            "kernels": "2 found by name"}, (subject, seen)
        assert all(check["kind"] == "image" and check["agrees"] for check in checks), checks


def test_a_wheel_without_code_for_the_gpu_fails_as_foretold_but_one_of_several_builds_may():
    code, report = probe(wheel("other", fatbins(blackwell="sm_100")), "--steps", "device-code")
    (step,) = steps(report, "device-code").values()
    assert code == 1 and "no code for GPU 0 (sm_90)" in step["reason"], step
    assert all(check["agrees"] for check in step["checks"]), step
    code, report = probe(wheel("several", fatbins(sm90="sm_90", sm100="sm_100")), "--steps", "device-code")
    assert code == 0 and len(steps(report, "device-code")) == 2, report


def test_another_image_than_foretold_is_a_failure():
    code, report = probe(wheel("plain", fatbins(code="sm_90")), "--steps", "device-code", FAKE_CUDA_IMAGE="80")
    (step,) = steps(report, "device-code").values()
    assert code == 1 and "container at 0x0: sm_90 of compute_90 predicted, sm_80 of compute_90 observed" in step["reason"], step


def test_what_is_no_wheel_with_code_is_told():
    done = subprocess.run([WHEELVET, "probe", WORK / "absent.whl"], capture_output=True, text=True)
    assert done.returncode == 2, done
    code, report = probe(wheel("empty", {"text.txt": b"nothing"}), "--steps", "device-code")
    assert code == 3 and report["verdict"] == "not_run", report


def environment_of(packages):
    """An environment in which these packages, {name: {path: bytes}}, are installed; its prefix."""
    prefix = pathlib.Path(tempfile.mkdtemp(dir=WORK)) / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", prefix], check=True)
    (site,) = prefix.glob("lib/python3*/site-packages")
    for name, files in packages.items():
        for path, data in files.items():
            (site / path).parent.mkdir(parents=True, exist_ok=True)
            (site / path).write_bytes(data)
        info = site / f"{name}-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        (info / "RECORD").write_text("".join(f"{path},,\n" for path in files))
    return prefix


def installed():
    own = {f"pkg/{name}": data for name, data in {"module.so": MODULE.read_bytes(), **fatbins(code="sm_90")}.items()}
    fakes = {f"nvidia/{path.relative_to(SITE)}": path.read_bytes() for path in SITE.glob("*/lib/*.so*")}
    return environment_of({"pkg": own, "nvidia_fakes": fakes})


def test_a_packages_roots_are_opened_and_its_device_code_is_loaded():
    prefix = installed()
    code, report = probe("--env", prefix, "--package", "pkg", "--steps", "device-code,load,curand")
    assert code == 0, report
    assert set(steps(report, "device-code")) == {"pkg/code.fatbin"}
    (load,) = steps(report, "load").values()
    assert load["subject"] == "pkg/module.so" and load["outcome"] == "pass", load
    (curand,) = steps(report, "curand").values()
    assert curand["libraries"][0]["path"].startswith(str(prefix.resolve())), curand
    assert load["checks"][0] == {"subject": "pkg/module.so", "predicted": "loads", "observed": "loads", "agrees": True,
                                 "kind": "library"}, load
    crashed, report = probe("--env", prefix, "--package", "pkg", "--steps", "load", FAKE_FAULT="open:segv")
    assert crashed == 1 and "SIGSEGV" in steps(report, "load")["pkg/module.so"]["reason"], report
    done = subprocess.run([WHEELVET, "probe", "--env", prefix, "--package", "absent"], capture_output=True, text=True)
    assert done.returncode == 2 and "no package absent" in done.stderr, done


def test_the_table_puts_prediction_beside_observation():
    made = wheel("table", fatbins(code="sm_90a"))
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([WHEELVET, "probe", made, "--driver", FAKES / "driver/libcuda.so.1", "--steps",
                               "kernel,device-code"], capture_output=True, text=True, env=environment(folder, folder, {}))
    rows = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert "step about predicted observed agree" in rows, done.stdout
    assert "kernel GPU 0 image PTX sm_50 compiled to sm_90 PTX sm_50 compiled to sm_90 yes" in rows, done.stdout
    assert any(row.startswith("device-code code.fatbin: GPU 0 (sm_90) containers") for row in rows), done.stdout


def check(*arguments):
    done = subprocess.run([WHEELVET, "check", *map(str, arguments), "--format", "json"], capture_output=True, text=True)
    return done.returncode, json.loads(done.stdout or '{}')


def probed(**settings):
    path = WORK / "probe.json"
    path.write_text(json.dumps(probe("--steps", "kernel", **settings)[1]))
    return path


def test_check_takes_the_probes_gpus_and_driver_as_facts():
    other, fits = wheel("other", fatbins(code="sm_100")), wheel("fits", fatbins(code="sm_90"))
    result = probed(FAKE_CUDA_DEVICES="2")
    code, report = check(other, "--probe", result)
    assert [gpu["gpu"] for gpu in report["gpus"]] == ["sm_90"], report["gpus"]
    assert any("probe.json" in line and "not signed" in line for line in report["scope"]), report["scope"]
    assert check(fits, "--probe", result)[0] == 0
    assert check(fits, "--probe", result, "--strict")[0] == 3, "unsigned evidence"


def test_a_matrix_takes_the_probes_gpus_as_facts():
    wheel("other", fatbins(code="sm_100")), wheel("fits", fatbins(code="sm_90"))
    plan = WORK / "matrix.toml"
    plan.write_text(f"""targets = ["{WORK}/other-1-py3-none-any.whl", "{WORK}/fits-1-py3-none-any.whl"]\n""")
    arguments = [WHEELVET, "matrix", plan, "--no-cache", "--format", "json", "--probe", probed()]
    done = subprocess.run(arguments, capture_output=True, text=True)
    cells = json.loads(done.stdout)["cells"]
    assert all(any("probe.json" in line for line in cell["report"]["scope"]) for cell in cells), cells
    assert [cell["report"]["gpus"][0]["gpu"] for cell in cells] == ["sm_90", "sm_90"], cells
    assert done.returncode == 0
    assert subprocess.run([*arguments, "--strict"], capture_output=True).returncode == 3, "unsigned evidence"


def test_a_probes_result_that_says_nothing_of_a_gpu_is_no_fact():
    fits = wheel("fits", fatbins(code="sm_90"))
    without = probe("--steps", "kernel", CUDA_VISIBLE_DEVICES="")[1]
    path = WORK / "nothing.json"
    path.write_text(json.dumps(without))
    assert check(fits, "--probe", path)[0] == 3
    path.write_text("no JSON")
    assert check(fits, "--probe", path)[0] == 3
    assert check(fits, "--probe", WORK / "absent.json")[0] == 3
    assert check(fits, "--probe", probed(), "--gpu", "sm_90")[0] == 2


if __name__ == "__main__":
    from support import main
    main(globals())
