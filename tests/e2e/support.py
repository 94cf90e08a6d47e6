"""What the end-to-end tests share: running the program and asking questions of its report."""

import json
import os
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(os.environ["WHEELVET_SOURCE"])
PROGRAM = os.environ["WHEELVET"]
STUBS = SOURCE / "fixtures" / "stubs"


def stub(name):
    (found,) = STUBS.glob(name + "*.whl")
    return str(found)


def run(*arguments, **options):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=100,
                          **options)


def one_line(text):
    return len(text.strip().splitlines()) == 1


def answer(schema, *arguments, **options):
    """Exit code and parsed output of `wheelvet ... --format json`, validated."""
    done = run(*arguments, "--format", "json", **options)
    assert done.stdout, done.stderr
    parsed = json.loads(done.stdout)
    validate(parsed, schema)
    return done.returncode, parsed


def report(*arguments):
    return answer("report", "check", *arguments)


def validate(parsed, schema):
    try:
        import jsonschema
    except ImportError:
        skip("the Python package jsonschema is not installed")
    jsonschema.Draft202012Validator(json.loads(run("schema", schema).stdout)).validate(parsed)


def errors(parsed):
    return [finding for finding in parsed["findings"] if finding["severity"] == "error"]


def failing(parsed):
    return sorted(root["name"] for root in parsed["roots"] if root["status"] == "fails")


def load_findings(parsed):
    """What a verdict on loading consists of, without what differs between a wheel and its stub."""
    return {
        "verdict": parsed["verdict"],
        "roots": [(root["path"], root["status"], root["imports"]) for root in parsed["roots"]],
        "findings": [
            (finding["id"], finding["severity"], finding["objects"], finding["roots"], finding["symbols"])
            for finding in parsed["findings"]
        ],
        "assumptions": [(each["library"], each["owner"]) for each in parsed["assumptions"]],
        "undecided": parsed["undecided"],
    }


def skip(reason):
    name = pathlib.Path(sys.argv[0]).stem
    print(f"SKIPPED: {os.environ.get('WHEELVET_TEST', name)}: {reason}")
    sys.exit(77)


def main(tests):
    """Runs every test_* function of a module's globals(); their names are claims. One that is skipped stops no other."""
    failed = skipped = 0
    for name, test in list(tests.items()):
        if not name.startswith("test_"):
            continue
        try:
            test()
            print("ok    ", name)
        except SystemExit as end:
            if end.code != 77:
                raise
            skipped += 1
        except AssertionError as error:
            failed += 1
            print("FAILED", name, error)
            import traceback
            traceback.print_exc()
    sys.exit(1 if failed else 77 if skipped else 0)
