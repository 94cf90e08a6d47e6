"""What the real loader does with the roots of an environment. See ask.py, which runs in the environment."""
import ast
import os
import pathlib
import re
import subprocess

ASK = pathlib.Path(__file__).with_name("ask.py")


def clean_environment(library_path):
    """No variable of ours that a loader or an interpreter would heed."""
    kept = {key: value for key, value in os.environ.items()
            if not key.startswith(("LD_", "PYTHON", "CUDA", "TORCH")) and key != "VIRTUAL_ENV"}
    if library_path:
        kept["LD_LIBRARY_PATH"] = str(library_path)
    return kept


def observe(prefix, imports, lines, library_path, work, seconds):
    """{line: answer}; where an import fails, that is the answer for every line. A line: see ask.py."""
    work.mkdir(exist_ok=True)
    with open(work / "stderr", "w") as errors:
        done = subprocess.run([prefix / "bin/python", "-I", ASK, work, str(seconds), ",".join(imports)],
                              input="\n".join(lines), text=True, stdout=subprocess.PIPE, stderr=errors,
                              env=clean_environment(library_path), cwd=work)
    answers = {}
    for line in done.stdout.splitlines():
        answer = ast.literal_eval(line)
        if "import" in answer:
            error = f"import {answer['import']}: {answer['error']}"
            return {line: {"line": line, "error": error, "died": None, "said": "", "libraries": None,
                           "symbols": None, "stopped": "the import fails"} for line in lines}
        check_itself(answer)
        answers[answer["line"]] = answer
    if len(answers) != len(set(lines)):
        raise SystemExit(f"the oracle answered {len(answers)} of {len(lines)} rows: see {work}/stderr")
    return answers


def check_itself(answer):
    """The list begins with what the plain load named: otherwise the wrapper has changed the question."""
    missing = (answer["libraries"] or []) + (answer["symbols"] or [])
    if answer["error"] and missing and reason(answer["error"])[1] != missing[0]:
        raise SystemExit(f"the oracle contradicts itself: {answer}")


def reason(error):
    """The loader's words as (kind, name)."""
    if match := re.match(r"import (\S+): ", error):
        return "import", match[1]
    if match := re.search(r"^(.*): cannot open shared object file: No such file", error):
        return "library", match[1]
    if match := re.search(r"undefined symbol: (\S+?)(?:, version (\S+))?$", error):
        return "symbol", f"{match[1]}@{match[2]}" if match[2] else match[1]
    if match := re.search(r": symbol (\S+), version (\S+) not defined in file", error):
        return "symbol", f"{match[1]}@{match[2]}"
    if match := re.search(r"version [`'](\S+)' not found", error):
        return "version", match[1]
    return "other", error
