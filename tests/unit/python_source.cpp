// Python source: tokens, what is imported, what is opened.
#include "facts/python_source.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "facts/python_tokens.h"

using namespace wheelvet;

using Texts = std::vector<std::string>;

namespace {

/// "+module" of an import that surely runs, "?module" of one that may not; ":" in a function.
Texts imports_of(std::string_view text, std::string_view path = "pkg/sub/mod.py") {
  Texts out;
  for (const PythonImport& each : read_python_source(text, path).imports) {
    std::string shown = each.guarded ? "?" : "+";
    shown += (each.in_function ? ":" : "") + each.module;
    for (const std::string& name : each.names) shown += " " + name;
    out.push_back(shown);
  }
  return out;
}

Texts patterns(const PythonSource& source) {
  Texts out;
  for (const PythonOpen& each : source.opens) {
    constexpr std::string_view kPlaces[] = {"search ", "", "", "? "};
    std::string place(kPlaces[static_cast<std::size_t>(each.place)]);
    out.push_back(place + each.pattern + (each.global ? " global" : ""));
  }
  return out;
}

/// The patterns that `text` opens: "search " before a name that the loader searches, "? " before
/// one in an unknown folder.
Texts opens_of(std::string_view text, std::string_view path = "pkg/mod.py") {
  return patterns(read_python_source(text, path));
}

std::string spelt(std::string_view text) {
  std::string out;
  PythonTokens tokens = read_python_tokens(text);
  for (std::size_t i = 0; i < tokens.tokens.size(); ++i) {
    switch (tokens.tokens[i].kind) {
      case PythonTokenKind::newline:
        out += "; ";
        break;
      case PythonTokenKind::indent:
        out += "{ ";
        break;
      case PythonTokenKind::dedent:
        out += "} ";
        break;
      case PythonTokenKind::end:
        break;
      default:
        out += std::string(tokens.spelling(i)) + " ";
    }
  }
  return out;
}

}  // namespace

TEST_CASE("lines are joined inside brackets and after a backslash, and comments are no tokens") {
  CHECK(spelt("a = (1,  # one\n  2)\nb\\\n = 3 # end") == "a = ( 1 , 2 ) ; b = 3 ; ");
}

TEST_CASE("indentation counts columns, tabs to the next multiple of eight, a form feed anew") {
  CHECK(spelt("if x:\n\ta\n        b\n\n# c\nd\n") == "if x : ; { a ; b ; } d ; ");
  CHECK(spelt("if x:\n  a\n\f  b\n") == "if x : ; { a ; b ; } ");
}

TEST_CASE("a byte order mark, CR LF and CR alone are line ends like any other") {
  CHECK(spelt("\xef\xbb\xbf"
              "a\r\nb\rc\n") == "a ; b ; c ; ");
  CHECK(read_python_tokens("a\r\nb\rc\n").tokens[4].line == 3);
}

TEST_CASE("a string ends at its own quotes, whatever its prefix") {
  CHECK(spelt(R"(x = rb'\n' + "it's" 'a\'b')") == R"(x = rb'\n' + "it's" 'a\'b' ; )");
  CHECK(spelt("'''a\n\"\"\" ' '' b''' c") == "'''a\n\"\"\" ' '' b''' c ; ");
  CHECK(spelt(R"(f"{d["k"]}{{" f'{x:{w}}' c)") == R"(f"{d["k"]}{{" f'{x:{w}}' c ; )");
}

TEST_CASE("what is not Python is said to be incomplete, and what follows it is read") {
  for (std::string_view text : {"'open\nimport a", "x = $\nimport a", "if x:\n    b\n  c\nimport a",
                                ")\nimport a", "f'{\nimport a"}) {
    PythonSource source = read_python_source(text, "m.py");
    CAPTURE(text);
    CHECK(source.incomplete);
    REQUIRE(source.imports.size() == 1);
    CHECK(source.imports[0].module == "a");
  }
  CHECK(read_python_source("x = (1", "m.py").incomplete);
  CHECK_FALSE(read_python_source("import a\nx = f'{a}'\n", "m.py").incomplete);
}

TEST_CASE("imports are told in order, with what follows `as` left out") {
  CHECK(imports_of("import a, b.c as d; from e import (f as g,\n h,)\nfrom i import *") ==
        Texts{"+a", "+b.c", "+e f h", "+i *"});
}

TEST_CASE("a relative import is resolved by the file's own package") {
  CHECK(imports_of("from . import a\nfrom .b import c\nfrom .. import d\nfrom ..e import f") ==
        Texts{"+pkg.sub a", "+pkg.sub.b c", "+pkg d", "+pkg.e f"});
  CHECK(imports_of("from . import a", "pkg/__init__.py") == Texts{"+pkg a"});
  // Python refuses it; the dots say so.
  CHECK(imports_of("from .... import a") == Texts{"+.. a"});
}

TEST_CASE("an import that may not run, or may fail without notice, is guarded") {
  CHECK(imports_of("try:\n import a\nexcept ImportError:\n import b\nelse:\n import c\n"
                   "finally:\n import d") == Texts{"?a", "?b", "?c", "+d"});
  CHECK(imports_of("try:\n import a\nfinally:\n pass") == Texts{"+a"});
  CHECK(imports_of("if x: import a\nelse: import b") == Texts{"?a", "?b"});
  CHECK(imports_of("with suppress(ImportError): import a\nwith open(x): import b") ==
        Texts{"?a", "+b"});
  CHECK(imports_of("match x:\n case 1: import a\nmatch = 1\nimport b") == Texts{"?a", "+b"});
  CHECK(imports_of("def f():\n import a\nclass C:\n import b") == Texts{"+:a", "+b"});
}

TEST_CASE("branches for other systems are left out, and the one for Linux is sure to run") {
  CHECK(imports_of("import sys, os, platform\n"
                   "if sys.platform == 'win32': import a\n"
                   "elif sys.platform.startswith(('linux', 'aix')): import b\n"
                   "else: import c\n"
                   "if os.name == 'nt' and x: import d\n"
                   "if platform.system() in ('Windows', 'Darwin') or x: import e\n"
                   "if not (sys.platform == 'darwin'): import f\n") ==
        Texts{"+sys", "+os", "+platform", "+b", "?e", "+f"});
  CHECK(imports_of("import sys\nWIN = sys.platform == 'win32'\nif WIN: import a\nelse: import b") ==
        Texts{"+sys", "+b"});
}

TEST_CASE("only what the platform says decides a condition, not what a name held before") {
  CHECK(imports_of("import ctypes\nmode = 'a'\nwhile x:\n if mode == 'b': import c\n"
                   " mode = 'b'\nif 'posix' == mode: import d\n") == Texts{"+ctypes", "?c", "?d"});
  CHECK(imports_of("import platform as p\ns = p.system().lower()\nif s == 'windows': import a\n") ==
        Texts{"+platform"});
}

TEST_CASE("a flag's literal decides nothing, except as the whole condition") {
  CHECK(imports_of("def f(): return False\nx = f() if y else False\nif x or f(): import a\n"
                   "if False: import b\nwhile True: import c\n") == Texts{"?a", "+c"});
}

TEST_CASE("what only a type checker or a script runs is left out") {
  CHECK(imports_of("import typing as t\nfrom typing import TYPE_CHECKING\n"
                   "if TYPE_CHECKING: import a\nif t.TYPE_CHECKING: import b\n"
                   "TYPE_CHECKING = False\nif TYPE_CHECKING: import d\n"
                   "if __name__ == '__main__': import c\n") ==
        Texts{"+typing", "+typing TYPE_CHECKING"});
}

TEST_CASE("import_module is an import, of what is literal in its name") {
  PythonSource source = read_python_source(
      "import importlib\nimportlib.import_module(f'.ext_cu{v}', __package__)\n", "pkg/__init__.py");
  REQUIRE(source.imports.size() == 2);
  CHECK(source.imports[1].module == "pkg.ext_cu*");
  CHECK(source.imports[1].by_call);
  CHECK_FALSE(source.imports[0].by_call);
}

TEST_CASE("a bare name is searched for, in the mode that the call says") {
  CHECK(opens_of("import ctypes\nctypes.CDLL('liba.so.1')\n"
                 "ctypes.CDLL('libb.so', mode=ctypes.RTLD_GLOBAL)\n"
                 "ctypes.CDLL('libc.so', ctypes.RTLD_GLOBAL | 2)\n"
                 "ctypes.PyDLL('libd.so')\nctypes.cdll.LoadLibrary('libe.so')") ==
        Texts{"search liba.so.1", "search libb.so global", "search libc.so global",
              "search libd.so", "search libe.so"});
  CHECK(opens_of("import ctypes as ct, os\nfrom ctypes import CDLL as C\nF = os.RTLD_GLOBAL\n"
                 "C('liba.so', F)\nct.cdll.LoadLibrary('libb.so')") ==
        Texts{"search liba.so global", "search libb.so"});
}

TEST_CASE("what opens nothing new is no open") {
  CHECK(opens_of("import ctypes, os\nctypes.CDLL(None)\nctypes.WinDLL('a.dll')\n"
                 "ctypes.windll.LoadLibrary('b.dll')\n"
                 "ctypes.CDLL('libc.so', mode=os.RTLD_NOLOAD)\n"
                 "x: ctypes.CDLL\nMock(ctypes.CDLL)") == Texts{});
}

TEST_CASE("every way of writing a path beside the file is one path") {
  constexpr std::string_view kPaths[] = {
      "os.path.join(os.path.dirname(__file__), 'lib', 'libx.so')",
      "os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib/libx.so')",
      "os.path.dirname(os.path.realpath(__file__)) + '/lib/libx.so'",
      "str(Path(__file__).parent / 'lib' / 'libx.so')",
      "Path(__file__).resolve().parent.joinpath('lib', 'libx.so')",
      "Path(__file__).parents[0] / 'lib' / ('lib' + 'x.so')",
      "os.fspath(Path(os.path.dirname(__file__), 'lib') / f'lib{\"x\"}.so')",
      "f'{HERE}/lib/libx.so'",
      "'%s/lib/lib%s.so' % (HERE, 'x')",
      "'{}/lib/{name}.so'.format(HERE, name='libx')",
      "HERE + os.sep + 'lib' + os.sep + NAMES['x']",
      "os.path.join(HERE, os.pardir, 'pkg', 'lib', 'libx' + EXT)",
      "importlib.resources.files('pkg') / 'lib' / 'libx.so'",
      "importlib.resources.files(__package__).joinpath('lib/libx.so')",
  };
  for (std::string_view path : kPaths) {
    CAPTURE(path);
    CHECK(opens_of("import os, ctypes, sys, importlib.resources\nfrom pathlib import Path\n"
                   "HERE = os.path.dirname(__file__)\nNAMES = {'x': 'libx.so', 'y': 'liby.so'}\n"
                   "EXT = '.dylib' if sys.platform == 'darwin' else '.so'\n"
                   "ctypes.CDLL(" +
                   std::string(path) + ")") == Texts{"pkg/lib/libx.so"});
  }
}

TEST_CASE("a part that no literal tells is a star") {
  CHECK(
      opens_of("import ctypes, os\nctypes.CDLL(f'libcudart.so.{major()}')\n"
               "ctypes.CDLL(os.path.join(root(), 'lib', 'libx.so'))\nctypes.CDLL(name())\n"
               "ctypes.CDLL('lib%s.so' % v)\nctypes.CDLL('lib[*.so')") ==
      Texts{"search libcudart.so.*", "? */lib/libx.so", "? *", "search lib*.so", "search lib*.so"});
  // A path inside of a name is no path.
  CHECK(opens_of("import ctypes, os\nctypes.CDLL('lib{}.so'.format(__file__))") ==
        Texts{"? lib*/pkg/mod.py.so"});
}

TEST_CASE("a loop opens each element of its list") {
  CHECK(opens_of("import ctypes\nfor n in ('a.so', 'b.so'): ctypes.CDLL(n)") ==
        Texts{"search a.so", "search b.so"});
  CHECK(opens_of("import ctypes, os\nL = []\nL.append('a.so')\nL += ['b.so']\n"
                 "H = os.path.dirname(__file__)\n"
                 "for p in [os.path.join(H, x) for x in L if x]: ctypes.CDLL(p)") ==
        Texts{"pkg/a.so", "pkg/b.so"});
  CHECK(opens_of("import ctypes\nfor k, n in [('x', 'a.so'), ('y', 'b.so')]:\n"
                 " try: ctypes.CDLL(n)\n except OSError: pass") ==
        Texts{"search a.so", "search b.so"});
  CHECK(opens_of("import ctypes, glob, os\n"
                 "[ctypes.CDLL(p) for p in sorted(glob.glob(os.path.dirname(__file__) + "
                 "'/libx*.so.[0-9]'))]") == Texts{"pkg/libx*.so.*"});
}

TEST_CASE("branches that may both run give both paths, and the last assignment wins otherwise") {
  CHECK(opens_of("import ctypes\nn = 'a.so'\nif x: n = 'b.so'\nctypes.CDLL(n)\nn = 'c.so'\n"
                 "ctypes.CDLL(n)") == Texts{"search a.so", "search b.so", "search c.so"});
}

TEST_CASE("a library for another system is not opened") {
  CHECK(opens_of("import ctypes, platform\n"
                 "n = {'Windows': 'a.dll', 'Linux': 'liba.so'}.get(platform.system(), 'a')\n"
                 "ctypes.CDLL('libb.dylib' if platform.system() == 'Darwin' else n)") ==
        Texts{"search liba.so", "search a"});
}

TEST_CASE("torch, cffi, numpy, importlib and others open libraries by calls of their own") {
  CHECK(opens_of("import torch\ntorch.ops.load_library('a.so')\n"
                 "torch.classes.load_library('b.so')\nops.load_library('c.so')") ==
        Texts{"search a.so", "search b.so"});
  CHECK(opens_of("from cffi import FFI\nffi = FFI()\nlib = ffi.dlopen('a.so')\n"
                 "from ._x import ffi as f\nf.dlopen('b.so')") ==
        Texts{"search a.so", "search b.so"});
  CHECK(opens_of("import numpy as np\nnp.ctypeslib.load_library('libx', __file__)") ==
        Texts{"pkg/libx.*so"});
  CHECK(opens_of("from importlib.util import spec_from_file_location as s\n"
                 "s('a', 'pkg/a.py')\ns('b', os.path.join('/opt', 'b.so'))\ns('c', path)") ==
        Texts{"/opt/b.so"});
  CHECK(opens_of("import llvmlite.binding as b\nb.load_library_permanently('libsvml.so')") ==
        Texts{"search libsvml.so global"});
  CHECK(opens_of("from cuda.pathfinder import load_nvidia_dynamic_lib\n"
                 "load_nvidia_dynamic_lib('cudart')") == Texts{"search libcudart.so*"});
  CHECK(opens_of("import ctypes\nfrom . import _ext\nctypes.CDLL(_ext.__file__, "
                 "ctypes.RTLD_GLOBAL)") == Texts{"pkg/_ext.*so global"});
}

TEST_CASE("importlib's finder gives an extension module's file, whatever its suffix") {
  CHECK(opens_of("import importlib.machinery as m, os, torch\n"
                 "def where(name):\n"
                 "  finder = m.FileFinder(os.path.dirname(__file__), (m.ExtensionFileLoader, []))\n"
                 "  spec = finder.find_spec(name)\n"
                 "  if spec is None: raise ImportError\n"
                 "  return spec.origin\n"
                 "torch.ops.load_library(where('_C'))") == Texts{"pkg/_C.*so"});
}

TEST_CASE("a helper called while the file is imported opens at the call's line") {
  PythonSource source = read_python_source(
      "import ctypes, os\nMODE = ctypes.DEFAULT_MODE\n"
      "def load_all():\n  for n in 'a', 'b': load(n)\n"
      "def load(name, mode=MODE):\n"
      "  return ctypes.CDLL(os.path.join(os.path.dirname(__file__), f'lib{name}.so'), mode)\n"
      "load_all()\nload('c', mode=ctypes.RTLD_GLOBAL)\n",
      "pkg/mod.py");
  Texts sure;
  for (const PythonOpen& each : source.opens) {
    if (!each.in_function) {
      sure.push_back(std::to_string(each.line) + " " + each.pattern + (each.global ? " g" : ""));
    }
  }
  CHECK(sure == Texts{"7 pkg/liba.so", "7 pkg/libb.so", "8 pkg/libc.so g"});
}

TEST_CASE("helpers and names of other files are followed when they are known") {
  PythonSource utils = read_python_source(
      "import os, torch\nDIR = os.path.join(os.path.dirname(__file__), 'lib')\n"
      "def load(name):\n  torch.ops.load_library(os.path.join(DIR, name + '.so'))\n",
      "pkg/_ext/utils.py");
  PythonSource first = read_python_source(
      "import ctypes\nfrom ._ext.utils import load as l, DIR\nif l('libx'): pass\n"
      "ctypes.CDLL(DIR + '/liby.so')",
      "pkg/__init__.py", utils.helpers);
  CHECK(patterns(first) == Texts{"pkg/_ext/lib/libx.so", "pkg/_ext/lib/liby.so"});
  CHECK(first.opens[0].call == "torch.ops.load_library");
  CHECK_FALSE(first.opens[0].in_function);
}

TEST_CASE("global dlopen flags and names of libraries are seen") {
  PythonSource source = read_python_source(
      "import sys, os\nsys.setdlopenflags(sys.getdlopenflags() | os.RTLD_GLOBAL)\n"
      "x = ['lib/liba.so.1', 'b.so', 'b.so', 'c.sock', 'a b.so', 'd.so*']\n",
      "m.py");
  CHECK(source.sets_dlopenflags_global);
  CHECK(source.mentions == Texts{"lib/liba.so.1", "b.so", "d.so*"});
  CHECK_FALSE(
      read_python_source("import sys\nsys.setdlopenflags(2)", "m.py").sets_dlopenflags_global);
}

TEST_CASE("nesting and doubling end at a limit, without throwing") {
  std::string deep = "import ctypes\nx = " + std::string(5000, '(') + "1" + std::string(5000, ')');
  CHECK(read_python_source(deep, "m.py").incomplete);
  std::string calls = "import ctypes\n";
  for (int i = 0; i < 150; ++i) calls += "ctypes.CDLL(";
  CHECK(read_python_source(calls + std::string(150, ')'), "m.py").incomplete);
  std::string doubling = "import ctypes\nx = 'ab'\n";
  for (int i = 0; i < 2000; ++i) doubling += "x = x + x\n";
  CHECK(opens_of(doubling + "ctypes.CDLL(x)") == Texts{"? *"});
  std::string choices = "import ctypes\nx = ''\n";
  for (int i = 0; i < 200; ++i) {
    choices += "if c: x = x + 'a" + std::to_string(i) + "'\n";
  }
  CHECK(opens_of(choices + "ctypes.CDLL(x)").size() <= 64);
  std::string blocks;
  for (int i = 0; i < 300; ++i) blocks += std::string(static_cast<std::size_t>(i), ' ') + "if x:\n";
  CHECK(read_python_source(blocks, "m.py").incomplete);
  CHECK(read_python_source("def f(a): return f(a + a)\nf('.so')\n", "m.py").imports.empty());
}
