#!/usr/bin/env python3
"""The loader's rules one by one: a fixture for each, ours against LD_DEBUG's, on this machine's glibc and on others.

rules.py DUMP_PLAN DLOPEN_CHILD [CLAIM]...

Other releases are Debian's libc6 packages unpacked into folders named by their release, in
${WHEELVET_CACHE:-~/.cache/wheelvet}/glibc (tools/other_glibc fetches them); a release that is not there is skipped
by name. Compared is what host.py compares.
"""
import glob
import os
import shutil
import struct
import subprocess
import sys
import tempfile

import host
import ld_debug

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "malformed"))
from elf_file import sysv_hash  # noqa: E402

CC = os.environ.get("CC", "cc")
CACHE = os.environ.get("WHEELVET_CACHE") or os.path.join(
    os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "wheelvet")
LEAF = "int leaf(void){return 1;}"
USES_LEAF = "int leaf(void); int root(void){return leaf();}"
OLDEST = (2, 34)  # that the child can be loaded by
CASES = []


class Scene:
    """A folder being filled, and what is done with it."""

    def __init__(self, folder):
        self.folder = folder
        self.opens = []          # "l:libroot.so": local, "g:": global, "z:": lazy; the last one is compared
        self.library_path = []
        self.preload = []
        self.near_limit = False  # of static TLS, where the rounding is not known

    def at(self, path):
        return os.path.join(self.folder, path)

    def lib(self, path, code, *flags, needed=(), rpath=None, runpath=None, versions=None, soname=None):
        """A library; `needed` are files of this scene, linked with and noted by their sonames."""
        os.makedirs(os.path.dirname(self.at(path)), exist_ok=True)
        options = ["-Wl,--no-as-needed", "-Wl,--allow-shlib-undefined",
                   f"-Wl,-soname,{soname or os.path.basename(path)}"]
        if rpath is not None:
            options += ["-Wl,--disable-new-dtags", f"-Wl,-rpath,{rpath}"]
        if runpath is not None:
            options += ["-Wl,--enable-new-dtags", f"-Wl,-rpath,{runpath}"]
        if versions:
            with open(self.at(path) + ".map", "w") as file:
                file.write(versions)
            options.append(f"-Wl,--version-script={self.at(path)}.map")
        subprocess.run([CC, "-shared", "-nostdlib", "-fPIC", "-O1", "-x", "c", "-", "-o", self.at(path), "-x", "none",
                        *options, *(self.at(each) for each in needed), *flags],
                       input=code, text=True, check=True, stderr=subprocess.PIPE)
        return path

    def root(self, code=USES_LEAF, *flags, **how):
        self.opens = ["l:libroot.so"]
        return self.lib("libroot.so", code, *flags, **how)

    def leaf(self, path, code=LEAF):
        return self.lib(path, code, soname="libleaf.so")

    def move(self, source, target):
        os.makedirs(os.path.dirname(self.at(target)), exist_ok=True)
        os.rename(self.at(source), self.at(target))

    def patch(self, path, change):
        with open(self.at(path), "r+b") as file:
            data = bytearray(file.read())
            change(data)
            file.seek(0)
            file.write(data)


def case(claim):
    def note(build):
        CASES.append((claim, build))
        return build
    return note


def segments(data):
    offset, = struct.unpack_from("<Q", data, 32)
    count, = struct.unpack_from("<H", data, 56)
    return [(offset + 56 * i, *struct.unpack_from("<IIQQQQQQ", data, offset + 56 * i)) for i in range(count)]


def byte(at, value):
    def change(data):
        data[at] = value
    return change


# Search paths.

def on_path(entry, lies_in):
    def build(scene):
        scene.leaf("libleaf.so")
        scene.root(rpath=entry, needed=["libleaf.so"])
        scene.move("libleaf.so", f"{lies_in}/libleaf.so")
    return build


for claim, entry, lies_in in [
        ("braces may stand around ORIGIN", "${ORIGIN}/lib", "lib"),
        ("a dash ends the token ORIGIN", "$ORIGIN-lib", "../made-lib"),
        ("a letter after ORIGIN makes it no token", "$ORIGINx/lib", "lib"),
        ("braces that are not closed make no token", "${ORIGIN/lib", "lib"),
        ("the name of a token is in capitals", "$origin/lib", "lib"),
        ("LIB stands for the folder of the distribution", "$ORIGIN/$LIB", "lib/x86_64-linux-gnu"),
        ("LIB is no lib64 on Debian", "$ORIGIN/$LIB", "lib64"),
        ("an entry without a slash in front is relative to the working directory", "lib", "lib"),
        ("an empty entry is the working directory", "$ORIGIN/none::$ORIGIN/lib", "lib"),
        ("two slashes are one", "$ORIGIN//lib/.//", "lib"),
        (".. leads out of a folder that is there", "$ORIGIN/there/../lib", "lib")]:
    case(claim)(on_path(entry, lies_in))


@case("ORIGIN stands for its folder in the middle of an entry too")
def _(scene):
    scene.leaf("libleaf.so")
    scene.root(rpath="/./$ORIGIN/lib", needed=["libleaf.so"])
    scene.move("libleaf.so", "lib/libleaf.so")


@case("PLATFORM stands for the processor")
def _(scene):
    scene.leaf("libleaf.so")
    scene.root(rpath="$ORIGIN/$PLATFORM", needed=["libleaf.so"])
    for name in ("x86_64", "haswell", "xeon_phi"):
        scene.lib(f"{name}/libleaf.so", LEAF, soname="libleaf.so")
    os.remove(scene.at("libleaf.so"))


def with_capabilities(*folders, how="rpath"):
    def build(scene):
        scene.leaf("libleaf.so")
        scene.root(needed=["libleaf.so"], **({how: "$ORIGIN/lib"} if how != "library_path" else {}))
        if how == "library_path":
            scene.library_path = [scene.at("lib")]
        os.remove(scene.at("libleaf.so"))
        for folder in folders:
            scene.leaf(os.path.join("lib", folder, "libleaf.so"))
    return build


HWCAPS = [f"glibc-hwcaps/x86-64-v{level}" for level in (4, 3, 2)]
case("the best level that the processor has wins under an RPATH")(with_capabilities("", *HWCAPS))
case("the best level wins under a RUNPATH")(with_capabilities("", *HWCAPS, how="runpath"))
case("the best level wins under LD_LIBRARY_PATH")(with_capabilities("", *HWCAPS, how="library_path"))
case("a level that no processor has is passed over")(with_capabilities("", "glibc-hwcaps/x86-64-v9"))
case("the second level serves where the third has nothing")(with_capabilities("", HWCAPS[2]))
for subfolder in ("tls/x86_64/x86_64", "tls/x86_64", "tls", "x86_64/x86_64", "x86_64", "haswell", "avx512_1",
                  "haswell/avx512_1/x86_64", "tls/haswell/x86_64", "x86_64/haswell"):
    case(f"up to 2.36 {subfolder} is searched where the processor has it")(with_capabilities("", subfolder))
case("levels come before the old subfolders")(with_capabilities("", HWCAPS[2], "tls", "x86_64"))
case("of the old subfolders the longest wins")(with_capabilities("tls", "x86_64", "tls/x86_64", "x86_64/x86_64"))


@case("LD_LIBRARY_PATH comes after the RPATH")
def _(scene):
    scene.leaf("libleaf.so")
    scene.root(rpath="$ORIGIN/lib", needed=["libleaf.so"])
    scene.move("libleaf.so", "lib/libleaf.so")
    scene.leaf("other/libleaf.so")
    scene.library_path = [scene.at("other")]


@case("LD_LIBRARY_PATH comes before the RUNPATH")
def _(scene):
    scene.leaf("libleaf.so")
    scene.root(runpath="$ORIGIN/lib", needed=["libleaf.so"])
    scene.move("libleaf.so", "lib/libleaf.so")
    scene.leaf("other/libleaf.so")
    scene.library_path = [scene.at("other")]


@case("LD_PRELOAD stands before everything but the program")
def _(scene):
    scene.lib("libpre.so", LEAF)
    scene.leaf("libleaf.so")
    scene.root(rpath="$ORIGIN", needed=["libleaf.so"])
    scene.preload = [scene.at("libpre.so")]


@case("what is preloaded is known by its soname")
def _(scene):
    scene.leaf("pre/libother.so")
    scene.leaf("libleaf.so")
    scene.root(rpath="$ORIGIN", needed=["libleaf.so"])
    scene.preload = [scene.at("pre/libother.so")]


@case("a needed name with a slash is a path")
def _(scene):
    scene.lib("deep/libleaf.so", LEAF, soname=scene.at("deep/libleaf.so"))
    scene.root(needed=["deep/libleaf.so"])


@case("a needed name with a slash may have tokens")
def _(scene):
    scene.lib("deep/libleaf.so", LEAF, soname="$ORIGIN/deep/libleaf.so")
    scene.root(needed=["deep/libleaf.so"])


def not_on_the_way(scene, change):
    scene.leaf("libleaf.so")
    scene.root(rpath="$ORIGIN/one:$ORIGIN/two", needed=["libleaf.so"])
    scene.leaf("two/libleaf.so")
    scene.move("libleaf.so", "one/libleaf.so")
    change(scene.at("one/libleaf.so"))


@case("a folder of the needed name ends the search")
def _(scene):
    def change(path):
        os.remove(path)
        os.mkdir(path)
    not_on_the_way(scene, change)


@case("a file that is cut off ends the search")
def _(scene):
    not_on_the_way(scene, lambda path: os.truncate(path, 40))


@case("a link that leads nowhere is passed over")
def _(scene):
    def change(path):
        os.remove(path)
        os.symlink("nowhere", path)
    not_on_the_way(scene, change)


@case("NODEFLIB leaves the default folders out, of the cache too")
def _(scene):
    scene.lib("libz.so.1", "int z;")
    scene.root("int root;", "-Wl,-z,nodefaultlib", needed=["libz.so.1"])
    os.remove(scene.at("libz.so.1"))


@case("NODEFLIB of one object says nothing of its needs")
def _(scene):
    scene.lib("libz.so.1", "int z;")
    scene.lib("libmid.so", "int mid;", needed=["libz.so.1"])
    scene.root("int root;", "-Wl,-z,nodefaultlib", needed=["libmid.so"], rpath="$ORIGIN/lib")
    scene.move("libmid.so", "lib/libmid.so")
    os.remove(scene.at("libz.so.1"))


@case("NODELETE changes nothing of a load")
def _(scene):
    scene.leaf("libleaf.so")
    scene.root(USES_LEAF, "-Wl,-z,nodelete", rpath="$ORIGIN", needed=["libleaf.so"])


# Scopes and definitions.

def filtered(flag, *names, needs=("libdep.so",)):
    def build(scene):
        scene.lib("libq.so", "int q;")
        scene.lib("libp.so", "int p;", needed=["libq.so"], rpath="$ORIGIN")
        for name in ("libdep.so", "libside.so"):
            scene.lib(name, f"int {name[3:-3]};")
        scene.lib("libimp.so", "int shared(void){return 1;}", needed=["libp.so"], rpath="$ORIGIN")
        scene.lib("libowner.so", "int shared(void){return 2;}", *(f"-Wl,{flag},{name}" for name in names),
                  needed=["libdep.so"], rpath="$ORIGIN")
        scene.root("int shared(void); int root(void){return shared();}",
                   needed=["libside.so", "libowner.so", *needs, "libq.so"], rpath="$ORIGIN")
    return build


case("what AUXILIARY names stands before its owner")(filtered("-f", "libimp.so"))
case("what AUXILIARY names may be missing")(filtered("-f", "libgone.so"))
case("what several AUXILIARY name stands in their order")(filtered("-f", "libimp.so", "libside.so"))
case("what AUXILIARY names and a later need too moves forward")(filtered("-f", "libimp.so", needs=["libimp.so"]))
case("what FILTER names stands before its owner")(filtered("-F", "libimp.so"))
case("what FILTER names must be there")(filtered("-F", "libgone.so"))


@case("AUXILIARY that names an own need moves it forward")
def _(scene):
    scene.lib("libdep.so", "int dep;")
    scene.root("int root;", "-Wl,-f,libdep.so", needed=["libdep.so"], rpath="$ORIGIN")


@case("what an AUXILIARY names may have its own")
def _(scene):
    for name in ("libq.so", "libside.so"):
        scene.lib(name, f"int {name[3:-3]};")
    scene.lib("libmid.so", "int mid;", "-Wl,-f,libq.so", rpath="$ORIGIN", needed=["libside.so"])
    scene.root("int root;", "-Wl,-f,libmid.so", "-Wl,-f,libside.so", rpath="$ORIGIN")


def opened_before(*modes):
    def build(scene):
        scene.lib("libprovider.so", LEAF)
        scene.root()
        scene.opens = [*(f"{mode}:libprovider.so" for mode in modes), "l:libroot.so"]
    return build


case("RTLD_GLOBAL serves later loads")(opened_before("g"))
case("RTLD_LOCAL does not")(opened_before("l"))
case("a later RTLD_GLOBAL open promotes what was local")(opened_before("l", "g"))


@case("promotion takes the needs along")
def _(scene):
    scene.lib("libdeep.so", LEAF)
    scene.lib("libprovider.so", "int other;", needed=["libdeep.so"], rpath="$ORIGIN")
    scene.root()
    scene.opens = ["l:libprovider.so", "g:libprovider.so", "l:libroot.so"]


@case("a symbol of an object loaded before wins over an own one")
def _(scene):
    scene.lib("libprovider.so", LEAF)
    scene.root(LEAF + "int root(void){return leaf();}")
    scene.opens = ["g:libprovider.so", "l:libroot.so"]


@case("DT_SYMBOLIC looks at home first")
def _(scene):
    scene.lib("libprovider.so", LEAF)
    scene.root(LEAF + "int (*root)(void) = leaf;", "-Wl,-z,lazy")
    def change(data):  # -Bsymbolic would leave nothing to look up; linkers leave room for a few more entries
        for at, kind, _, offset, _, _, size, *_ in segments(data):
            if kind != 2:
                continue
            for entry in range(offset, offset + size - 32, 16):
                if struct.unpack_from("<q", data, entry)[0] == 0:
                    struct.pack_into("<qQ", data, entry, 16, 0)
                    return
    scene.patch("libroot.so", change)
    scene.opens = ["g:libprovider.so", "l:libroot.so"]


@case("a protected symbol stays at home")
def _(scene):
    scene.lib("libprovider.so", LEAF)
    scene.root("__attribute__((visibility(\"protected\"))) int leaf(void){return 2;} int (*root)(void) = leaf;")
    scene.opens = ["g:libprovider.so", "l:libroot.so"]


@case("a hidden symbol is not looked up")
def _(scene):
    scene.lib("libprovider.so", LEAF)
    scene.root("__attribute__((visibility(\"hidden\"))) int leaf(void){return 2;} int (*root)(void) = leaf;")
    scene.opens = ["g:libprovider.so", "l:libroot.so"]


UNIQUE = ("__asm__(\".globl u\\n.type u,@gnu_unique_object\\n.size u,4\\n.data\\nu: .long 1\");"
          " extern int u; int *%s(void){return &u;}")


@case("a unique symbol is that of whoever was asked first, RTLD_LOCAL or not")
def _(scene):
    scene.lib("libfirst.so", UNIQUE % "first")
    scene.root(UNIQUE % "root")
    scene.opens = ["l:libfirst.so", "l:libroot.so"]


@case("a unique symbol without a definition in scope is missing")
def _(scene):
    scene.lib("libfirst.so", UNIQUE % "first")
    scene.root("extern int u; int *root(void){return &u;}")
    scene.opens = ["l:libfirst.so", "l:libroot.so"]


@case("the first definition wins, weak or not")
def _(scene):
    scene.lib("libweak.so", "__attribute__((weak)) int leaf(void){return 2;}")
    scene.lib("libstrong.so", LEAF)
    scene.root(needed=["libweak.so", "libstrong.so"], rpath="$ORIGIN")


@case("an IFUNC is a definition")
def _(scene):
    scene.lib("libifunc.so", "static int real(void){return 1;} static void *pick(void){return real;}"
              " int leaf(void) __attribute__((ifunc(\"pick\")));")
    scene.root(needed=["libifunc.so"], rpath="$ORIGIN")


@case("a weak reference may stay without a definition")
def _(scene):
    scene.root("__attribute__((weak)) int leaf(void); int root(void){return leaf ? leaf() : 0;}")


@case("bound lazily a function may be missing")
def _(scene):
    scene.root(USES_LEAF, "-Wl,-z,lazy")
    scene.opens = ["z:libroot.so"]


@case("bound lazily an address in data may not be missing")
def _(scene):
    scene.root("int leaf(void); int (*root)(void) = leaf;", "-Wl,-z,lazy")
    scene.opens = ["z:libroot.so"]


@case("-z now binds at once whatever the caller wants")
def _(scene):
    scene.root(USES_LEAF, "-Wl,-z,now")
    scene.opens = ["z:libroot.so"]


# Versions.

TWO = "int one(void){return 1;} int two(void){return 2;}"
VERSIONS = "V1 { global: one; local: *; }; V2 { global: two; } V1;"
USES_ONE = "int one(void); int root(void){return one();}"


def versioned(code, versions, uses="one", **more):
    def build(scene):
        scene.lib("link/libversioned.so", TWO, versions=VERSIONS, soname="libversioned.so")
        scene.lib("libversioned.so", code, versions=versions)
        scene.root(f"int {uses}(void); int root(void){{return {uses}();}}", needed=["link/libversioned.so"],
                   rpath="$ORIGIN")
    return build


case("up to 2.40 a library that lost its versions ends the process")(versioned(TWO, None))
case("the version of a symbol must be there")(versioned(TWO, "V1 { global: one; two; local: *; };", uses="two"))
case("a symbol that moved to another version is missing")(
    versioned(TWO, "V1 { local: *; }; V2 { global: one; two; } V1;"))
case("a symbol of the base version serves any")(versioned(TWO, "V1 { global: none1; }; V2 { global: two; } V1;"))


@case("a library with needs of versions and none of its own serves any")
def _(scene):
    scene.lib("link/libversioned.so", TWO, versions=VERSIONS, soname="libversioned.so")
    scene.lib("libother.so", "int three(void){return 3;}", versions="W { global: three; local: *; };")
    scene.lib("libversioned.so", TWO + "int three(void); int four(void){return three();}", needed=["libother.so"],
              rpath="$ORIGIN")
    scene.root(USES_ONE, needed=["link/libversioned.so"], rpath="$ORIGIN")


@case("an unversioned definition that stands first wins")
def _(scene):
    scene.lib("libplain.so", "int one(void){return 3;}")
    scene.lib("libversioned.so", TWO, versions=VERSIONS)
    scene.lib("libuser.so", USES_ONE, needed=["libversioned.so"], rpath="$ORIGIN")
    scene.root("int other;", needed=["libplain.so", "libuser.so"], rpath="$ORIGIN")


@case("a weak need of a version is no error")
def _(scene):
    versioned(TWO, "V1 { global: one; two; local: *; };", uses="two")(scene)
    scene.root("__attribute__((weak)) int two(void); int root(void){return two ? two() : 0;}",
               needed=["link/libversioned.so"], rpath="$ORIGIN")


# What is refused.

def changed(change, **how):
    def build(scene):
        scene.root("int leaf; int *root = &leaf;", **how)
        scene.patch("libroot.so", change)
    return build


for value in (0, 1, 2, 3, 6, 9, 64, 255):
    case(f"OSABI {value}")(changed(byte(7, value)))
for value in (1, 3, 4, 5):
    case(f"ABI version {value} of OSABI 0")(changed(byte(8, value)))
    def of_gnu(data, value=value):
        data[7], data[8] = 3, value
    case(f"ABI version {value} of GNU")(changed(of_gnu))
for name, kind in (("REL", 1), ("EXEC", 2), ("CORE", 4), ("NONE", 0)):
    case(f"an object of type {name} is refused")(changed(byte(16, kind)))
case("the size of program headers must be the usual one")(changed(byte(54, 57)))


@case("without PT_DYNAMIC an object is refused")
@changed
def _(data):
    for at, kind, *_ in segments(data):
        if kind == 2:
            struct.pack_into("<I", data, at, 0)


@case("address and offset of a segment must agree modulo the page")
@changed
def _(data):
    for at, kind, _, offset, address, *_ in segments(data):
        if kind == 1 and offset:
            struct.pack_into("<Q", data, at + 16, address + 8)


@case("a processor of the baseline level is enough for an object that asks for it")
def _(scene):
    scene.root("int root;", "-Wl,-z,x86-64-baseline")


@case("an object that asks for x86-64-v2")
def _(scene):
    scene.root("int root;", "-Wl,-z,x86-64-v2")


@case("an object that asks for x86-64-v3")
def _(scene):
    scene.root("int root;", "-Wl,-z,x86-64-v3")


@case("an object that asks for x86-64-v4, which many processors do not have")
def _(scene):
    scene.root("int root;", "-Wl,-z,x86-64-v4")


@case("what is needed asks for x86-64-v4")
def _(scene):
    scene.lib("libleaf.so", LEAF, "-Wl,-z,x86-64-v4")
    scene.root(USES_LEAF, needed=["libleaf.so"], rpath="$ORIGIN")


@case("a stack that shall be executable is refused from 2.41 on")
def _(scene):
    scene.root("int root;", "-Wl,-z,execstack")


@case("without PT_GNU_STACK the stack shall be executable")
@changed
def _(data):
    for at, kind, *_ in segments(data):
        if kind == 0x6474e551:
            struct.pack_into("<I", data, at, 0)


@case("a position-independent program is no library")
def _(scene):
    subprocess.run([CC, "-pie", "-fPIE", "-x", "c", "-", "-o", scene.at("libroot.so")], input="int main(){return 0;}",
                   text=True, check=True)
    scene.opens = ["l:libroot.so"]


@case("NOOPEN refuses dlopen")
def _(scene):
    scene.root("int root;", "-Wl,-z,nodlopen")


@case("NOOPEN refuses to be needed by what is opened, too")
def _(scene):
    scene.lib("libno.so", "int no;", "-Wl,-z,nodlopen")
    scene.root("int root;", needed=["libno.so"], rpath="$ORIGIN")


@case("packed relocations need no version where libc is not needed")
def _(scene):
    scene.root("static int a; int *root = &a;", "-Wl,-z,pack-relative-relocs")


@case("packed relocations without their version are refused where libc is needed")
def _(scene):
    subprocess.run([CC, "-shared", "-fPIC", "-x", "c", "-", "-o", scene.at("libroot.so"),
                    "-Wl,-z,pack-relative-relocs"],
                   input="#include <stdio.h>\nstatic int a; int *root = &a; int say(void){return puts(\"\");}",
                   text=True, check=True)
    def change(data):  # the version's name and hash become those of another that libc has
        at = data.find(b"GLIBC_ABI_DT_RELR\0")
        data[at:at + 18] = b"GLIBC_2.2.5\0" + bytes(6)
        old, new = (struct.pack("<I", sysv_hash(name)) for name in (b"GLIBC_ABI_DT_RELR", b"GLIBC_2.2.5"))
        where = data.find(old)
        data[where:where + 4] = new
    scene.patch("libroot.so", change)
    scene.opens = ["l:libroot.so"]


# Static TLS.

def variable(size, alignment=1, name="t"):
    model = "__attribute__((tls_model(\"initial-exec\"), aligned(%d)))" % alignment
    return f"__thread {model} char {name}[{size}]; char *get_{name}(void){{return {name};}}"


def refers_to(name, size):
    model = "__attribute__((tls_model(\"initial-exec\")))"
    return f"extern __thread {model} char {name}[{size}]; char *root(void){{return {name};}}"


for size in (16, 512, 1600, 1648, 1664, 1696, 1712, 1713, 1728, 1729, 4096):
    @case(f"{size} bytes of static TLS in a bare process")
    def _(scene, size=size):
        scene.root(variable(size))
        scene.near_limit = 1664 < size < 1728
for size, alignment in ((16, 64), (16, 128), (16, 256), (1600, 64)):
    @case(f"{size} bytes of static TLS aligned to {alignment}")
    def _(scene, size=size, alignment=alignment):
        scene.root(variable(size, alignment))


@case("the module that defines a variable is charged, not the one that refers to it")
def _(scene):
    scene.lib("libowner.so", "__thread char t[2000];")
    scene.root(refers_to("t", 2000), needed=["libowner.so"], rpath="$ORIGIN")


@case("a large variable that is not wanted in static TLS is no trouble")
def _(scene):
    scene.root("__thread char t[65536]; char *root(void){return t;}")


@case("a variable that is bound at home takes room too")
def _(scene):
    scene.root("static " + variable(5000))


@case("what is opened one after the other shares the room")
def _(scene):
    for i in range(3):
        scene.lib(f"lib{i}.so", variable(500))
    scene.root(variable(500))
    scene.opens = [*(f"l:lib{i}.so" for i in range(3)), "l:libroot.so"]


@case("alignment of each module takes room")
def _(scene):
    for i in range(20):
        scene.lib(f"lib{i}.so", variable(1, 64))
    scene.root(variable(600))
    scene.opens = [*(f"l:lib{i}.so" for i in range(20)), "l:libroot.so"]


@case("what is preloaded has its room besides")
def _(scene):
    scene.lib("libpre.so", variable(3000))
    scene.root(variable(1600))
    scene.preload = [scene.at("libpre.so")]


@case("a module that only uses the preloaded one's variable takes nothing")
def _(scene):
    scene.lib("libpre.so", variable(3000, name="shared"))
    scene.root(refers_to("shared", 3000))
    scene.preload = [scene.at("libpre.so")]


def other_releases():
    found = {}
    for folder in sorted(glob.glob(os.path.join(CACHE, "glibc", "[0-9]*"))):
        release = os.path.basename(folder)
        if tuple(map(int, release.split("."))) < OLDEST:
            continue
        for libc in glob.glob(os.path.join(folder, "**/libc.so.6"), recursive=True):
            found[release] = os.path.dirname(libc)
    return found


def compare(claim, scene, release, folder, dump_plan, child):
    """What is not as we say, for one fixture and one release; `folder`: of its libc, None for the machine's own."""
    path = scene.at(scene.opens[-1][2:])
    options = ["--program", child]
    loader = None
    library_path = list(scene.library_path)
    if folder:
        # The folder of the other libc is searched after those of the fixture.
        library_path.append(folder)
        options += ["--glibc", release]
        loader = [os.path.join(folder, ld_debug.LOADER), "--library-path", ":".join(library_path)]
    for each in library_path:
        options += ["--library-path", each]
    for each in scene.preload:
        options += ["--preload", each]
    for each in scene.opens[:-1]:
        options += ["--first", each[:2] + scene.at(each[2:])]
    if scene.opens[-1].startswith("z:"):
        options.append("--lazy")
    env = {"LD_PRELOAD": ":".join(scene.preload)} if scene.preload else {}
    if library_path and not folder:
        env["LD_LIBRARY_PATH"] = ":".join(library_path)
    if scene.opens[-1].startswith("z:"):
        env["LD_BIND_NOW"] = ""
    _, plan = host.ours(dump_plan, options, [path])
    command = [child, *(each[:2] + scene.at(each[2:]) for each in scene.opens)]
    lines, printed, complaint = ld_debug.run(command, env, loader=loader)
    real = ld_debug.opening_of(lines, path)
    if real is None:
        return [("not opened", printed, complaint[-300:])]
    if not real.ended:
        real.error = ld_debug.error_of(printed, complaint)
    found, _ = host.differences(real, plan)
    if scene.near_limit and folder and found and "static TLS" in str(found[0][1]):
        return []
    return found


def main():
    dump_plan, child, *wanted = sys.argv[1:]
    child = os.path.realpath(child)
    releases = {"this machine's": None, **other_releases()}
    counts, failures = {release: 0 for release in releases}, 0
    for claim, build in CASES:
        if wanted and not any(each in claim for each in wanted):
            continue
        with tempfile.TemporaryDirectory() as work:
            folder = os.path.join(os.path.realpath(work), "made")
            os.makedirs(os.path.join(folder, "there"))
            scene = Scene(folder)
            build(scene)
            for release, libc in releases.items():
                counts[release] += 1
                for found in compare(claim, scene, release, libc, dump_plan, child):
                    failures += 1
                    print(f"{claim} ({release}): {found[0]}:", *found[1:], flush=True)
    if len(releases) == 1:
        print(f"SKIPPED: rules on other releases of glibc: none in {CACHE}/glibc (tools/other_glibc fetches some)")
    print(", ".join(f"{count} rules on {release} glibc" for release, count in counts.items()),
          f"; {failures} differences")
    return 1 if failures or not sum(counts.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
