"""What wheelvet says of an environment, as plain rows."""
import json
import re
import subprocess

from build import site_packages
from observe import clean_environment


def command(wheelvet, prefix, imports):
    """`imports` is None for what wheelvet itself takes to be imported first, else the list that is forced."""
    flags = []
    if imports is not None:
        flags = [flag for name in imports for flag in ("--import", name)] or ["--alone"]
    if "--env " not in subprocess.run([wheelvet, "check", "--help"], capture_output=True, text=True).stdout:
        site = site_packages(prefix)
        return [wheelvet, "check", str(site), "--python", site.parent.name.removeprefix("python"), "--format", "json",
                *[flag for flag in flags if flag != "--alone"]]
    return [wheelvet, "check", "--env", str(prefix), "--format", "json", *flags]


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
            "package": root["package"],
            "imports": root["imports_first"],
            "libraries": root.get("missing_libraries", []),
            "symbols": root.get("missing_symbols", []),
            "versions": versions(findings),
            "findings": sorted({f"{each['id']} {each['severity']}: {each['title']}" for each in findings
                                if each["severity"] == "error" or each["alternative"]}),
        }
    return rows


def versions(findings):
    """Version nodes that a finding of the VER family names."""
    text = " ".join(json.dumps(each) for each in findings if each["id"].startswith("VER-"))
    return sorted(set(re.findall(r"\b(?:GLIBC|GLIBCXX|CXXABI|GCC|OPENSSL|NVJPEG|lib\w+\.so)[\w.]*", text)))
