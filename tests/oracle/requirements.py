#!/usr/bin/env python3
"""Versions, specifiers and markers: our answers against those of the packaging library that pip carries.

requirements.py DUMP_REQUIREMENTS [METADATA...]: the requirements in those files are asked as well. Generated from a
fixed seed: a few thousand questions of each kind. With PACKAGING=module another copy of packaging is the oracle.
"""
import importlib.util
import os
import random
import subprocess
import sys

MODULE = os.environ.get("PACKAGING", "pip._vendor.packaging")
try:
    version = importlib.import_module(MODULE + ".version")
    specifiers = importlib.import_module(MODULE + ".specifiers")
    requirements = importlib.import_module(MODULE + ".requirements")
    markers = importlib.import_module(MODULE + ".markers")
except ImportError:
    print(f"SKIPPED: oracle_requirements: {MODULE} is not installed")
    sys.exit(77)

# Releases before 26 read some odd spellings and bounds that are pre-releases otherwise than PEP 440: they are asked
# about plain ones only.
OLD = importlib.util.find_spec(MODULE + "._ranges") is None
CHOOSE = random.Random(440)
COUNT = 3000


def make_version():
    number = lambda: CHOOSE.choice(["0", "1", "2", "9", "10", "02", "20260101"])
    text = CHOOSE.choice(["", "", "", "v", "1!", "0!"])
    text += ".".join(number() for _ in range(CHOOSE.choice([1, 2, 2, 3, 3, 4])))
    text += CHOOSE.choice(["", "", "", "", "a1", "b2", "rc1", ".alpha", "-beta.3", "c0", "_pre_2", "preview"])
    text += CHOOSE.choice(["", "", "", "", ".post1", "-1", "post", ".rev3", "r0"])
    text += CHOOSE.choice(["", "", "", "", ".dev0", "dev", "-dev4"])
    text += CHOOSE.choice(["", "", "", "+cu130", "+cpu", "+5", "+ubuntu.1", "+1.abc", "+1-2"])
    return text


NEAR = ["2.9", "2.9.0", "2.9.1", "2.9.1+cu130", "2.9.1+cu128", "2.9.1.post1", "2.9.1rc1", "2.9.2", "2.10", "2.10.0",
        "2.10.0rc2", "2.10.dev1", "2", "3", "2.9.1.dev5", "2.9.1a1.post2.dev3", "1!2.9", "2.9.0.0", "2.10.0.post3.dev1"]


def any_version():
    if OLD and CHOOSE.random() < 0.5:
        return str(version.Version(make_version()))
    if OLD:
        return CHOOSE.choice(NEAR)
    return CHOOSE.choice(NEAR) if CHOOSE.random() < 0.6 else make_version()


def make_clause():
    operator = CHOOSE.choice(["==", "!=", "<=", ">=", "<", ">", "~=", "=="])
    text = any_version()
    if OLD and operator in "<>":
        text = ".".join(map(str, version.Version(text).release))
    if operator in ("==", "!=") and CHOOSE.random() < 0.4:
        text = ".".join(CHOOSE.choice(["0", "1", "2", "9", "10"]) for _ in range(CHOOSE.choice([1, 2, 3]))) + ".*"
    elif operator not in ("==", "!=") and CHOOSE.random() < 0.9:
        text = text.split("+")[0]
    return operator + CHOOSE.choice(["", " "]) + text


def make_specifier():
    return ",".join(make_clause() for _ in range(CHOOSE.choice([1, 1, 1, 2, 3])))


def make_marker(depth=0):
    if depth < 2 and CHOOSE.random() < 0.4:
        join = CHOOSE.choice([" and ", " or "])
        inner = join.join(make_marker(depth + 1) for _ in range(CHOOSE.choice([2, 3])))
        return f"({inner})" if depth else inner
    name, values, operators = CHOOSE.choice([
        ("python_version", ["3.8", "3.9", "3.12", "3.13", "3.12.1", "4"], ["<", "<=", "==", "!=", ">=", ">", "~="]),
        ("python_full_version", ["3.9.0", "3.13.0", "3.12.0"], ["<", ">="]),
        ("sys_platform", ["linux", "win32", "darwin", "lin"], ["==", "!=", "in", "not in"]),
        ("platform_machine", ["x86_64", "aarch64", "x86_64 AMD64"], ["==", "!=", "in"]),
        ("platform_system", ["Linux", "Windows"], ["==", "!="]),
        ("os_name", ["posix", "nt"], ["==", "!="]),
        ("implementation_name", ["cpython", "pypy"], ["==", "!="]),
        ("platform_python_implementation", ["CPython", "PyPy"], ["==", "!="]),
        # Of extras only names in their normal form: releases before 22 compare others as they stand.
        ("extra", ["gpu", "a-b"], ["==", "!="]),
    ])
    operator, value = CHOOSE.choice(operators), CHOOSE.choice(values)
    if operator == "~=" and "." not in value:
        operator = ">="  # "~= 4" is no specifier, and texts are not compared so
    quote = CHOOSE.choice("'\"")
    if operator not in ("in", "not in", "~=") and CHOOSE.random() < 0.2:
        return f"{quote}{value}{quote} {operator} {name}"
    return f"{name} {operator} {quote}{value}{quote}"


def environment(python, extra):
    return {"python_version": python, "python_full_version": python + ".99", "implementation_version": python + ".99",
            "implementation_name": "cpython", "platform_python_implementation": "CPython", "os_name": "posix",
            "sys_platform": "linux", "platform_system": "Linux", "platform_machine": "x86_64", "platform_release": "6",
            "platform_version": "1", "extra": extra}


def order(a, b):
    try:
        a, b = version.Version(a), version.Version(b)
    except version.InvalidVersion:
        return "none"
    return "less" if a < b else "more" if a > b else "same"


def admits(specifier, text):
    try:
        clauses = [specifiers.Specifier(each.strip()) for each in specifier.split(",")]
        text = version.Version(text)
    except (specifiers.InvalidSpecifier, version.InvalidVersion):
        return "none"
    return "yes" if all(clause.contains(text, prereleases=True) for clause in clauses) else "no"


def holds(text, python, extra):
    try:
        marker = requirements.Requirement(text).marker
    except requirements.InvalidRequirement:
        return "none"
    return "yes" if marker is None or marker.evaluate(environment(python, extra)) else "no"


def reads(text):
    try:
        name = requirements.Requirement(text).name
    except requirements.InvalidRequirement:
        return "none"
    return importlib.import_module(MODULE + ".utils").canonicalize_name(name)


def questions(files):
    for _ in range(COUNT):
        a, b = any_version(), any_version()
        yield ("order", a, b), order(a, b)
        specifier, text = make_specifier(), any_version()
        yield ("admits", specifier, text), admits(specifier, text)
        requirement = "a" + CHOOSE.choice(["", ">=1", "[x]"]) + "; " + make_marker()
        python, extra = CHOOSE.choice(["3.9", "3.12", "3.13"]), CHOOSE.choice(["", "gpu", "a-b"])
        yield ("holds", requirement, python, extra), holds(requirement, python, extra)
    for path in files:
        with open(path, encoding="utf-8", errors="replace") as metadata:
            for line in metadata:
                if line.startswith("Requires-Dist:"):
                    text = line[14:].strip()
                    yield ("reads", text), reads(text)
                    yield ("holds", text, "3.12", ""), holds(text, "3.12", "")
                if line == "\n":
                    break


def main():
    program, files = sys.argv[1], sys.argv[2:]
    asked = list(questions(files))
    text = "".join("\t".join(question) + "\n" for question, _ in asked)
    answers = subprocess.run([program], input=text, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(answers) == len(asked), (len(answers), len(asked))
    wrong = [(question, right, ours) for (question, right), ours in zip(asked, answers) if ours != right]
    for question, right, ours in wrong[:20]:
        print("DIFFERS", question, "packaging:", right, "ours:", ours)
    print(f"{len(asked)} questions, {len(wrong)} answers differ ({MODULE})")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
