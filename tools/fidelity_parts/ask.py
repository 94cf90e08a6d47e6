"""Asks the real loader. Run by the environment's own Python: ask.py WORK SECONDS IMPORT[,IMPORT...] < lines

A line is a path, or several with tabs between: those that the package opens before ("global:" stands before one
that is opened with RTLD_GLOBAL), then the one in question.
After the imports, each is opened in a forked child with the flags of a Python import. The opening is done by
Python's own import machinery under a module name that no file defines, so that no other library (ctypes brings
libffi) comes into the process and no PyInit function runs. Only what an interpreter has before `import site` is
used here, for the same reason.

When an import fails, one line says so and nothing is opened: a program would not come further either. Else there
is one line of answer per line, a Python literal: a dictionary with
  error      None when the file was opened, else the loader's words
  died       None, or the signal that ended the child while it opened the file (a constructor, then)
  said       the last of what the child wrote to standard error
  libraries  every library that is missing, in the order in which the loader comes to them
  symbols    every symbol that is missing; None when a library or a version is missing, or the list has no end
  stopped    why the list of symbols ends early, else None
"""
import os
import sys

import _imp
import _signal

MOST_SYMBOLS = 400
MOST_LIBRARIES = 200
END = "fidelity_end_of_list"
OPENED = "does not define module export function"
NO_LIBRARY = ": cannot open shared object file: No such file or directory"
NO_SYMBOL = "undefined symbol: "

# Needs the vetted library and can never be relocated itself. The loader relocates dependencies first: when this
# symbol is the one that it misses, it has found all others, and no constructor has run.
WRAPPER = "extern int %s; int *fidelity_wrapper = &%s;" % (END, END)


class Spec:
    def __init__(self, path):
        self.name = "fidelity_asks"
        self.origin = path
        self.parent = ""
        self.loader = None
        self.submodule_search_locations = None


def open_object(path, flags=os.RTLD_NOW):
    """None, or the loader's error."""
    sys.setdlopenflags(flags)
    try:
        _imp.create_dynamic(Spec(path))
    except ImportError as error:
        if OPENED in str(error):
            return None
        return str(error)
    return None


class Stubs:
    """Small libraries, compiled when they are wanted, in a folder of their own."""

    def __init__(self, folder):
        self.folder = folder
        self.count = 0
        os.makedirs(folder, exist_ok=True)

    def path(self, end):
        return os.path.join(self.folder, "%d%s" % (self.count, end))

    def compile(self, text, suffix, *arguments):
        self.count += 1
        with open(self.path(suffix), "w") as file:
            file.write(text)
        command = ["cc", "-shared", "-nostdlib", "-fPIC", "-o", self.path(".so"), self.path(suffix)]
        command += arguments
        if os.spawnvp(os.P_WAIT, "cc", command) != 0:
            raise RuntimeError("cc failed: " + " ".join(command))
        return self.path(".so")

    def wrapper(self, path):
        """A library that needs PATH; a soname with a slash is kept as DT_NEEDED and opened as a path."""
        stand_in = self.compile("", ".c", "-Wl,-soname," + path)
        return self.compile(WRAPPER, ".c", "-Wl,--no-as-needed", stand_in)

    def library(self, soname):
        return self.compile("", ".c", "-Wl,-soname," + soname)

    def symbol(self, name):
        return self.compile('.globl "%s"\n.type "%s",@function\n"%s": ret\n' % (name, name, name), ".s")


def missing_library(error):
    return error[:-len(NO_LIBRARY)] if error.endswith(NO_LIBRARY) else None


def missing_symbol(error):
    """(plain name, name with its version), or None."""
    if NO_SYMBOL in error:
        name, _, version = error.split(NO_SYMBOL, 1)[1].partition(", version ")
        return name, name + "@" + version if version else name
    # "symbol NAME, version VERSION not defined in file FILE with link time reference"
    if " not defined in file " in error and ": symbol " in error:
        name, _, rest = error.split(": symbol ", 1)[1].partition(", version ")
        return name, name + "@" + rest.split(" ", 1)[0]
    return None


def open_before(before):
    for each in before:
        path = each.removeprefix("global:")
        open_object(path, os.RTLD_NOW | (os.RTLD_GLOBAL if path != each else os.RTLD_LOCAL))


def open_after(before, path):
    # What the package opens before may fail: it is the loader's business what follows from that.
    open_before(before)
    return open_object(path)


def list_missing(before, path, folder):
    """All missing libraries, then all missing symbols: whatever the loader misses is put there, and it is asked
    again. A load that fails is undone as a whole, so one process serves for all of them."""
    open_before(before)
    stubs = Stubs(folder)
    wrapper = stubs.wrapper(path)
    libraries, symbols, stopped = [], [], None
    while True:
        error = open_object(wrapper)
        if error is None or END in error:
            break
        library, symbol = missing_library(error), missing_symbol(error)
        if library is not None and len(libraries) < MOST_LIBRARIES and library not in libraries:
            libraries.append(library)
            stub, flags = stubs.library(library), os.RTLD_NOW
        elif symbol is not None and libraries:
            break
        elif symbol is not None and len(symbols) < MOST_SYMBOLS and symbol[1] not in symbols:
            symbols.append(symbol[1])
            stub, flags = stubs.symbol(symbol[0]), os.RTLD_NOW | os.RTLD_GLOBAL
        else:
            stopped = error
            break
        failed = open_object(stub, flags)
        if failed is not None:
            stopped = "stub: " + failed
            break
    return {"libraries": libraries, "symbols": None if libraries else symbols, "stopped": stopped}


def in_child(work, seconds, name, do):
    """(what do() returned in a forked child, None) or (None, the signal that ended the child); and its stderr."""
    said = os.path.join(work, name + ".stderr")
    answer = os.path.join(work, name + ".answer")
    if os.path.exists(answer):
        os.remove(answer)
    child = os.fork()
    if child == 0:
        output = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        _signal.alarm(seconds)
        text = repr(do())
        with open(answer, "w") as file:
            file.write(text)
        # Destructors of what was loaded are not our question.
        os._exit(0)
    _, status = os.waitpid(child, 0)
    with open(said, errors="replace") as file:
        words = file.read()[-400:]
    if not os.path.exists(answer):
        died = os.WTERMSIG(status) if os.WIFSIGNALED(status) else -os.WEXITSTATUS(status)
        return None, died, words
    with open(answer) as file:
        return eval(file.read(), {"__builtins__": {}}), None, words


def ask(line, work, seconds):
    before, path = line.split("\t")[:-1], line.split("\t")[-1]
    answer = {"line": line, "error": None, "died": None, "said": "", "libraries": [], "symbols": [],
              "stopped": None}
    error, died, said = in_child(work, seconds, "open", lambda: open_after(before, path))
    answer.update(error=error, died=died, said=said if died is not None else "")
    if error is None and died is None:
        return answer
    folder = os.path.join(work, "stubs%d" % os.getpid())
    missing, list_died, _ = in_child(work, seconds * 5, "list", lambda: list_missing(before, path, folder))
    if missing is None:
        missing = {"libraries": None, "symbols": None, "stopped": "signal %d" % list_died}
    answer.update(missing)
    return answer


def main():
    work, seconds = sys.argv[1], int(sys.argv[2])
    answers = os.fdopen(os.dup(1), "w")
    lines = sys.stdin.read().split("\n")
    for module in sys.argv[3].split(",") if len(sys.argv) > 3 and sys.argv[3] else []:
        try:
            __import__(module)
        except BaseException as error:
            answers.write(repr({"import": module, "error": "%s: %s" % (type(error).__name__, error)}) + "\n")
            return
    for line in lines:
        if line:
            answers.write(repr(ask(line, work, seconds)) + "\n")
            answers.flush()


main()
