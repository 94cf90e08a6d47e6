"""A folder that stands for the root of a machine: its loader's folders, cache and links count, ours never."""

import os
import pathlib
import shutil
import tempfile

from support import errors, failing, main, report, run
from sysroot_made import cache, made_root

FIXTURES = pathlib.Path(os.environ["WHEELVET_ELF_FIXTURES"])
LEAF = FIXTURES / "link_time" / "libleaf.so"


def checked(root, scene="soname_needed"):
    """The report on a module that needs libleaf.so and says nothing of where it is."""
    module = pathlib.Path(tempfile.mkdtemp()) / "module"
    module.mkdir()
    shutil.copy(FIXTURES / "scenes" / scene / "libroot.so", module)
    return report(module, "--sysroot", root, "--plans")


def test_a_library_of_a_built_in_folder_is_found():
    root = made_root()
    shutil.copy(LEAF, root / "usr/lib")
    code, parsed = checked(root)
    assert not errors(parsed) and code == 0, parsed["findings"]
    assert any("/usr/lib/libleaf.so" in each["name"] for each in parsed["load_plans"][0]["objects"])


def test_a_library_in_no_folder_of_the_root_is_missing():
    root = made_root()
    shutil.copy(LEAF, root / "opt")
    code, parsed = checked(root)
    assert code == 1 and [each["id"] for each in errors(parsed)] == ["LIB-001"], parsed["findings"]
    assert failing(parsed)


def test_links_are_followed_inside_the_root():
    root = made_root()
    shutil.copy(LEAF, root / "opt")
    os.symlink("/opt/libleaf.so", root / "usr/lib/libleaf.so")
    code, parsed = checked(root)
    assert code == 0, parsed["findings"]


def test_a_link_that_would_lead_out_of_the_root_leads_nowhere():
    root = made_root()
    outside = pathlib.Path(tempfile.mkdtemp())
    shutil.copy(LEAF, outside)
    os.symlink(outside / "libleaf.so", root / "usr/lib/libleaf.so")
    os.symlink("../../../../../../../" + str(outside / "libleaf.so"), root / "lib/x86_64-linux-gnu/libleaf.so")
    code, parsed = checked(root)
    assert code == 1, parsed["findings"]


def test_links_that_go_round_are_no_end():
    root = made_root()
    os.symlink("/usr/lib/libleaf.so", root / "lib/x86_64-linux-gnu/libleaf.so")
    os.symlink("/lib/x86_64-linux-gnu/libleaf.so", root / "usr/lib/libleaf.so")
    code, parsed = checked(root)
    assert code == 1, parsed["findings"]


def test_the_cache_of_the_root_is_read_and_a_broken_one_is_no_obstacle():
    root = made_root()
    shutil.copy(LEAF, root / "opt")
    (root / "etc/ld.so.cache").write_bytes(cache({"libleaf.so": "/opt/libleaf.so"}))
    code, parsed = checked(root)
    assert code == 0, parsed["findings"]
    (root / "etc/ld.so.cache").write_bytes(b"glibc-ld.so.cache1.1" + b"\xff" * 40)
    code, parsed = checked(root)
    assert code == 1, parsed["findings"]


def test_this_machines_own_settings_do_not_count():
    root = made_root()
    folder = tempfile.mkdtemp()
    shutil.copy(LEAF, folder)
    os.environ["LD_LIBRARY_PATH"] = folder
    try:
        code, parsed = checked(root)
    finally:
        del os.environ["LD_LIBRARY_PATH"]
    assert code == 1, parsed["findings"]


def test_a_root_that_is_not_there_is_wrong_usage():
    assert run("check", LEAF, "--sysroot", "/nonexistent").returncode == 2


main(globals())
