"""The fault that started it, on the stubs of the real wheels."""

from support import errors, failing, load_findings, main, report, run, stub, validate

SGL = stub("sgl_kernel-0.3.21")
BROKEN = stub("torch-2.10.0")
FITTING = stub("torch-2.9.1")
CHECK = "_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_ib"
LOGGER = "_ZN3c1013MessageLoggerC1EPKcii"
FOUR = ["flash_ops", "flashmla_ops", "sm100/common_ops", "sm90/common_ops"]


def test_beside_torch_2_10_exactly_four_modules_fail():
    code, parsed = report(SGL, "--with", BROKEN)
    assert code == 1, code
    assert failing(parsed) == FOUR, failing(parsed)


def test_every_missing_symbol_is_shown_and_nothing_else_is_an_error():
    _, parsed = report(SGL, "--with", BROKEN)
    (error,) = errors(parsed)
    assert error["id"] == "SYM-001"
    symbols = {symbol["symbol"]: symbol for symbol in error["symbols"]}
    assert set(symbols) == {CHECK, LOGGER}, set(symbols)
    assert len(symbols[CHECK]["wanted_by"]) == 4
    # flash_ops does not log: it lacks one name only
    assert sorted(symbols[LOGGER]["wanted_by"]) == [
        "sgl_kernel/flashmla_ops.abi3.so",
        "sgl_kernel/sm100/common_ops.abi3.so",
        "sgl_kernel/sm90/common_ops.abi3.so",
    ]


def test_the_near_miss_names_the_parameter_and_the_library():
    _, parsed = report(SGL, "--with", BROKEN)
    symbols = {symbol["symbol"]: symbol for symbol in errors(parsed)[0]["symbols"]}
    near = symbols[CHECK]["near_misses"][0]
    assert near["difference"] == "argument 4: int wanted, unsigned int exported", near
    assert near["provider"] == "torch/lib/libc10_cuda.so", near


def test_beside_torch_2_9_1_everything_loads_with_its_assumptions_listed():
    code, parsed = report(SGL, "--with", FITTING)
    assert code == 0, code
    assert errors(parsed) == []
    assert parsed["complete"] is True
    owners = {each["library"]: (each["kind"], each["owner"]) for each in parsed["assumptions"]}
    assert owners["libcuda.so.1"] == ("driver", "NVIDIA driver")
    assert owners["libcudart.so.12"] == ("package", "nvidia-cuda-runtime-cu12")
    assert owners["libcublas.so.12"] == ("package", "nvidia-cublas-cu12")
    assert owners["libnvrtc.so.12"] == ("package", "nvidia-cuda-nvrtc-cu12")
    assert owners["libnuma.so.1"][0] == "system"


def test_without_torch_nothing_is_called_fine():
    code, parsed = report(SGL)
    assert code == 3, code
    assert parsed["verdict"] == "undecided"
    assert any(finding["id"] == "LIB-003" for finding in parsed["findings"])
    assert errors(parsed) == []


def test_order_of_threads_does_not_change_a_byte():
    outputs = {run("check", SGL, "--with", BROKEN, "--format", "json", "-j", str(jobs)).stdout
               for jobs in (1, 2, 8)}
    assert len(outputs) == 1


def test_load_plans_are_kept_when_asked_for():
    _, parsed = report(SGL, "--with", FITTING, "--plans")
    (plan,) = [each for each in parsed["load_plans"] if each["root"].endswith("flash_ops.abi3.so")]
    validate(plan, "load-plan")
    names = [each["name"] for each in plan["objects"]]
    assert names[0].startswith("python3.12"), names[0]
    assert names.index("torch/lib/libc10_cuda.so") < names.index("sgl_kernel/flash_ops.abi3.so")


def test_strict_does_not_take_stubs_and_assumptions_for_answers():
    code, _ = report(SGL, "--with", FITTING, "--strict")
    assert code == 3, code


def test_the_threshold_moves_the_exit_code():
    assert report(SGL, "--with", FITTING, "--fail-on", "warning")[0] == 1


def test_two_releases_of_one_package_are_wrong_usage():
    done = run("check", SGL, "--with", BROKEN, "--with", FITTING)
    assert done.returncode == 2 and "both given" in done.stderr, done.stderr


def test_a_provider_whose_place_the_target_takes_is_told():
    for provider in (BROKEN, "torch==2.10.0"):
        _, parsed = report(FITTING, "--with", provider)
        assert any(line.startswith("torch 2.10.0 of ") and "not used" in line for line in parsed["scope"]), parsed["scope"]
    _, parsed = report(FITTING)
    assert not any("not used" in line for line in parsed["scope"]), parsed["scope"]


def test_a_torch_judged_by_itself_loads():
    code, parsed = report(FITTING)
    assert code == 0, [finding["title"] for finding in errors(parsed)]
    assert load_findings(parsed)["verdict"] == "loads"


main(globals())
