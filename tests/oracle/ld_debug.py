"""What the real loader did, as LD_DEBUG=libs,files,bindings,versions,scopes tells it."""
import os
import re
import subprocess
import tempfile

LOADER = "ld-linux-x86-64.so.2"
# Looked up by ld.so for itself once it has a libc, not for a relocation (glibc elf/dl-minimal.c).
LOADERS_OWN = {"malloc", "calloc", "realloc", "free"}
BINDING = re.compile(r"binding file (.*) \[0\] to (.*) \[0\]: (?:normal|protected) symbol `(.*)'(?: \[(.*)\])?$")
SCOPE = re.compile(r" scope \d+: (.*)")
SEARCH_PATH = re.compile(r"\((RPATH|RUNPATH|LD_LIBRARY_PATH|--library-path|system search path)")


class Account:
    """One dlopen, or the start of a process."""

    def __init__(self):
        self.objects = []      # (path, how found), in the order of the link map
        self.scope = []        # paths, breadth first
        self.bindings = set()  # (importing path, symbol, version, providing path)
        self.error = None
        self.ended = False     # relocation was done with; constructors came next


def same_name(path):
    """The loader's own names of an object: ld.so has several paths, and ".." stays in the others."""
    path = os.path.normpath(path)
    return LOADER if os.path.basename(path) == LOADER else path


def account_of(lines):
    out = Account()
    search, how, tried, tried_how, shown = None, None, None, None, None
    for line in lines:
        if found := BINDING.match(line):
            source, target, symbol, version = found.groups()
            if "linux-vdso.so.1" not in (source, target):
                out.bindings.add((same_name(source), symbol, version or "", same_name(target)))
        elif line.startswith("find library="):
            search, tried = line[13:].split(" [")[0], None
        elif line.startswith(" search cache="):
            how = "cache"
        elif line.startswith(" search path="):
            found = SEARCH_PATH.search(line)
            how = found.group(1).replace("--library-path", "LD_LIBRARY_PATH") if found else how
        elif line.startswith("  trying file="):
            tried, tried_how = line[14:], how
        elif line.endswith("[0];  generating link map"):
            name = line[5:].split(" [")[0]
            if search == name and tried:
                out.objects.append((same_name(tried), tried_how))
            else:
                out.objects.append((same_name(name), "root"))
            search = None
        elif line.startswith("object="):
            shown = line[7:].split(" [")[0]
        elif (found := SCOPE.match(line)) and out.objects and same_name(shown) == out.objects[0][0]:
            out.scope = [same_name(each) for each in found.group(1).split() if each != "linux-vdso.so.1"]
        elif line.startswith(("calling init:", "opening file=")):
            out.ended = True
            break
    return out


def run(command, env=None, timeout=60, loader=None):
    """Lines that the loader wrote for the process itself, and what it printed."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("LD_", "PYTHON"))}
    with tempfile.TemporaryDirectory() as work:
        prefix = os.path.join(work, "ld")
        clean |= {"LD_DEBUG": "libs,files,bindings,versions,scopes", "LD_DEBUG_OUTPUT": prefix, "LD_BIND_NOW": "1"}
        clean |= env or {}
        child = subprocess.Popen([*(loader or []), *command], env=clean, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=work)
        try:
            printed, complaint = child.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            child.kill()
            printed, complaint = child.communicate()
        lines = []
        if os.path.exists(f"{prefix}.{child.pid}"):
            with open(f"{prefix}.{child.pid}", errors="backslashreplace") as file:
                lines = [line.rstrip("\n").split(":\t", 1)[-1] for line in file]
        return lines, printed.decode(errors="backslashreplace"), complaint.decode(errors="backslashreplace")


def start_of(lines):
    """The account of a process's start; its program has the first name in the scopes."""
    end = next((i for i, line in enumerate(lines) if line.startswith(("transferring control", "calling init:"))),
               len(lines))
    out = account_of(lines[:end])
    out.scope = []
    for line in lines[:end]:
        if line.startswith(" scope 0: "):
            out.scope = [same_name(each) for each in line[10:].split()]
            break
    return out


def error_of(printed, complaint):
    """What dlerror said, by the word of our child or of Python's exception; None when it was content."""
    for line in (printed + "\n" + complaint).splitlines():
        for begin in ("error ", "OSError: ", "ImportError: "):
            if line.startswith(begin):
                return line[len(begin):]
        if "Inconsistency detected by ld.so" in line:
            return line
    return None


def opening_of(lines, path):
    """The account of the dlopen of `path`; None when it never came to it."""
    opened = f"file={path} [0];  dynamically loaded"
    begin = next((i for i, line in enumerate(lines) if line.startswith(opened)), None)
    return None if begin is None else account_of(lines[begin:])


class Opened:
    """What a dlopen of `path` by `command` came to: "loads", "refuses" (with an error) or "dies" (of a signal or an
    assertion). Constructors may do as they like: they come after the load."""

    def __init__(self, command, path):
        lines, printed, complaint = run([*command, path])
        self.account = opening_of(lines, path)
        self.error = error_of(printed, complaint)
        ended = self.account is not None and self.account.ended
        if self.error and "Inconsistency detected" in self.error:
            self.does = "loads" if ended else "dies"  # a constructor may open and close others
        elif self.error:
            self.does = "refuses"
        else:
            self.does = "loads" if ended else "dies"
