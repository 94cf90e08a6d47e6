#!/usr/bin/env python3
"""The imports of Python files, where they stand and whether they are sure to run: ours against ast's.

python_source.py DUMP_PYTHON [FOLDER...]: without a folder, the standard library of the Python that runs this.
Files that this Python cannot parse are left out.
"""
import ast
import os
import re
import subprocess
import sys
import types
import warnings

# What a condition may ask of the platform; all else in it is unknown.
PLATFORM = {
    "sys": types.SimpleNamespace(platform="linux"),
    "os": types.SimpleNamespace(name="posix"),
    "platform": types.SimpleNamespace(system=lambda: "Linux"),
    "TYPE_CHECKING": False,
    "typing": types.SimpleNamespace(TYPE_CHECKING=False),
}


# Files without these keep nothing of the platform in a name, and need no walk.
ASKS = re.compile(rb"platform|\bname\s*==|import (os|sys) as")


def platform_names(tree, own_name, asks):
    """What this file calls the modules above, and the names that keep what they say."""
    names = {"__builtins__": {}, "__name__": own_name, **PLATFORM}
    if not asks:
        return names
    nodes = list(ast.walk(tree))
    for node in nodes:
        if isinstance(node, ast.Import):
            names.update({each.asname: PLATFORM[each.name] for each in node.names if each.asname and each.name in PLATFORM})
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            truth = None if isinstance(node.value, ast.Constant) else condition(node.value, names)
            if truth is None:
                continue
            name = node.targets[0].id
            stored = [n for n in nodes if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)]
            if len(stored) == 1:
                names[name] = truth
    return names


def condition(test, names):
    """True or False where the platform, or the program being Linux's, says so; None otherwise."""
    if isinstance(test, ast.BoolOp):
        truths = [condition(value, names) for value in test.values]
        decides = isinstance(test.op, ast.Or)
        if decides in truths:
            return decides
        return None if None in truths else not decides
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        truth = condition(test.operand, names)
        return None if truth is None else not truth
    if not isinstance(test, (ast.Compare, ast.Call, ast.Constant, ast.Name, ast.Attribute)):
        return None
    # Nothing else can be evaluated with these names; asking costs more than all the rest.
    if not any(isinstance(node, ast.Name) and node.id in names or isinstance(node, ast.Constant) for node in ast.walk(test)):
        return None
    try:
        value = eval(compile(ast.Expression(test), "", "eval"), dict(names))
    except Exception:
        return None
    numeral = isinstance(value, int) and isinstance(test, ast.Constant)
    return bool(value) if isinstance(value, bool) or numeral else None


class Walk:
    def __init__(self, path, tree, asks):
        self.path = path
        self.package = os.path.dirname(path).replace("/", ".")
        stem = os.path.basename(path)[:-3]
        self.name = self.package if stem == "__init__" else f"{self.package}.{stem}".lstrip(".")
        self.names = platform_names(tree, self.name, asks)
        self.found = []

    def absolute(self, module, level):
        if not level:
            return module
        parts = self.package.split(".") if self.package else []
        if level - 1 >= len(parts):
            return "." * (level - len(parts)) + (module or "")
        return ".".join(parts[: len(parts) - level + 1] + ([module] if module else []))

    def body(self, statements, guarded, function):
        for statement in statements:
            self.statement(statement, guarded, function)

    def statement(self, node, guarded, function):
        def add(module, names):
            place = "function" if function else "top"
            sure = "guarded" if guarded else "plain"
            self.found.append(f"import {node.lineno} {sure} {place} statement {module} {names or '-'}")

        if isinstance(node, ast.Import):
            for each in node.names:
                add(each.name, "")
        elif isinstance(node, ast.ImportFrom):
            add(self.absolute(node.module, node.level), ",".join(each.name for each in node.names))
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            self.body(node.body, guarded, True)
        elif isinstance(node, ast.ClassDef):
            self.body(node.body, guarded, function)
        elif isinstance(node, ast.If):
            truth = condition(node.test, self.names)
            if truth is not False:
                self.body(node.body, guarded or truth is None, function)
            if truth is not True:
                self.body(node.orelse, guarded or truth is None, function)
        elif isinstance(node, (ast.Try, getattr(ast, "TryStar", ast.Try))):
            self.body(node.body, guarded or bool(node.handlers), function)
            for handler in node.handlers:
                self.body(handler.body, True, function)
            self.body(node.orelse, True, function)
            self.body(node.finalbody, guarded, function)
        elif isinstance(node, ast.While):
            truth = condition(node.test, self.names)
            if truth is not False:
                self.body(node.body, guarded or truth is None, function)
            self.body(node.orelse, True, function)
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            self.body(node.body, guarded, function)
            self.body(node.orelse, True, function)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            names = [child for item in node.items for child in ast.walk(item)]
            suppress = any(
                getattr(child, "id", None) == "suppress" or getattr(child, "attr", None) == "suppress"
                for child in names
            )
            self.body(node.body, guarded or suppress, function)
        elif isinstance(node, getattr(ast, "Match", ())):
            for case in node.cases:
                self.body(case.body, True, function)


def expected(path, file):
    with open(file, "rb") as source, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text = source.read()
        tree = ast.parse(text)
    walk = Walk(path, tree, ASKS.search(text) is not None)
    walk.body(tree.body, False, False)
    return walk.found


def dumped(program, files):
    text = "".join(f"{path} {file}\n" for path, file in files)
    run = subprocess.run([program], input=text, capture_output=True, text=True, check=True)
    found = {}
    for line in run.stdout.splitlines():
        if line.startswith("file "):
            lines = found[line[5:]] = []
        else:
            lines.append(line)
    return found


def python_files(folder):
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in ("site-packages", "dist-packages"))
        for name in sorted(names):
            file = os.path.join(where, name)
            if name.endswith(".py") and os.path.isfile(file) and " " not in file:
                yield os.path.relpath(file, folder), file


def main():
    program = sys.argv[1]
    folders = sys.argv[2:] or [os.path.dirname(os.__file__)]
    compared = left_out = imports = 0
    wrong = []
    for folder in folders:
        files = list(python_files(folder))
        found = dumped(program, files)
        for path, file in files:
            try:
                wanted = expected(path, file)
            except (SyntaxError, ValueError, RecursionError):
                left_out += 1
                continue
            compared += 1
            imports += len(wanted)
            ours = [line for line in found[path] if line.startswith("import ") and " call " not in line]
            if ours != wanted or "incomplete" in found[path]:
                wrong.append((file, [f"- {w}" for w in wanted if w not in ours] + [f"+ {o}" for o in ours if o not in wanted] + ["incomplete"] * ("incomplete" in found[path])))
    for file, lines in wrong[:20]:
        print(file, *lines[:10], sep="\n    ")
    print(f"{compared} files, {imports} imports compared, {left_out} files left out, {len(wrong)} differ")
    # A Python without its library's sources has nothing to compare.
    if compared < 100:
        print("SKIPPED: oracle_python_source: fewer than 100 files of the standard library found")
        sys.exit(77)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
