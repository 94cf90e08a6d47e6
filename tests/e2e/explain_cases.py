"""125 reports of real failures: kind, side and fix of each must agree with what its users found (tests/data/cases.toml)."""

import json
import tomllib

from support import SOURCE, main, run, validate

LEAST_RIGHT = 110
CASES = tomllib.loads((SOURCE / "tests" / "data" / "cases.toml").read_text())["case"]


def answer(text):
    done = run("explain", "-", "--format", "json", input=text)
    return done.returncode, json.loads(done.stdout)


def faults(case):
    """What the first explanation lacks; empty when it is right."""
    code, parsed = answer(case["text"])
    validate(parsed, "explain")
    if code != 0 or not parsed["explanations"]:
        return ["not understood"]
    first = parsed["explanations"][0]
    fixes = [fix["side"] for fix in first["fixes"]]
    told = " ".join(text for fix in first["fixes"] for text in (fix["fix"], fix["command"])) + " ".join(first["show"])
    out = []
    if first["kind"] != case["kind"]:
        out.append(f"kind {first['kind']}, not {case['kind']}")
    if not set(case["side"]) & set(fixes):
        out.append(f"sides {fixes}, none of {case['side']}")
    out += [f"no fix with {words!r} in: {told}" for words in case["fix"] if words not in told]
    return out


def test_every_report_is_explained_but_those_that_cannot_be():
    wrong = {case["id"]: found for case in CASES if "not_met" not in case and (found := faults(case))}
    right = sum("not_met" not in case for case in CASES) - len(wrong)
    print(f"        {right} of {len(CASES)} reports right")
    assert len(CASES) == 125
    assert right >= LEAST_RIGHT
    assert not wrong, "\n".join(f"{name}: {found}" for name, found in wrong.items())


def test_what_is_listed_as_not_met_is_not_met():
    for case in CASES:
        if "not_met" in case:
            assert faults(case), f"{case['id']} is right now: take its not_met away"


main(globals())
