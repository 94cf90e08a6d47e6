"""What wheelvet says of an environment, as plain rows."""
import json
import subprocess

from build import site_packages
from observe import clean_environment


def command(wheelvet, prefix, imports):
    """`imports` is None for what wheelvet itself takes to be imported first, else the list that is forced."""
    forced = [] if imports is None else ["--alone", *(word for name in imports for word in ("--import", name))]
    # --host: a driver that is not there is missing, as it is for the loader.
    return [wheelvet, "check", "--env", str(prefix), "--host", "--format", "json", *forced]


def predict(wheelvet, prefix, imports, library_path):
    """{absolute path of a root: row}"""
    line = command(wheelvet, prefix, imports)
    done = subprocess.run(line, capture_output=True, text=True, env=clean_environment(library_path))
    if done.returncode not in (0, 1, 3):
        raise SystemExit(f"{' '.join(line)}: exit {done.returncode}: {done.stderr}")
    report = json.loads(done.stdout)
    rows = {}
    for root in report["roots"]:
        path = site_packages(prefix) / root["path"]
        if not path.exists():
            path = prefix / root["path"]
        if not path.exists():
            raise SystemExit(f"{' '.join(line)}: no such root: {root['path']}")
        findings = [each for each in report["findings"] if root["path"] in each["roots"]]
        rows[str(path)] = {
            "status": root["status"],
            "imports": root["imports_first"],
            "opens": [("global:" if each["global"] else "") + str(site_packages(prefix) / each["path"])
                      for each in root["opens_first"]],
            "libraries": root["missing_libraries"],
            "symbols": root["missing_symbols"],
            "versions": root["missing_versions"],
            "findings": sorted({f"{each['id']} {each['severity']}: {each['title']}" for each in findings
                                if each["severity"] == "error" or each["alternative"]}),
        }
    return rows
