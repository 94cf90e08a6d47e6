"""How often a matrix opens its inputs, counted by strace."""

import pathlib
import re
import shutil
import subprocess
import tempfile

from support import PROGRAM, main, skip, stub

if not shutil.which("strace"):
    skip("strace is not installed")
WORK = pathlib.Path(tempfile.mkdtemp())
WHEELS = [stub(name) for name in ("sgl_kernel-0.3.21", "torch-2.10.0", "torch-2.9.1")]
for each in WHEELS:
    (WORK / pathlib.Path(each).name).symlink_to(each)


def opened(name, text):
    """How often each wheel was opened for reading, by name."""
    (WORK / name).write_text(text)
    log = WORK / f"{name}.strace"
    done = subprocess.run(["strace", "-f", "-e", "trace=open,openat,openat2", "-o", log, PROGRAM, "matrix",
                           WORK / name, "--no-cache"], capture_output=True, text=True, timeout=100)
    assert done.returncode in (0, 1), done.stderr
    paths = re.findall(r'"([^"]*\.whl)".*O_RDONLY', log.read_text())
    return {pathlib.Path(wheel).name: sum(pathlib.Path(path).name == pathlib.Path(wheel).name for path in paths)
            for wheel in WHEELS}


def test_an_input_is_opened_as_often_in_many_cells_as_in_one():
    one = opened("one.toml", 'targets = ["sgl_kernel-*.whl"]\nproviders = ["torch-2.10*.whl"]\n')
    scenarios = "".join(f'[[scenario]]\npython = "3.{minor}"\n' for minor in (10, 11, 12, 13))
    many = opened("many.toml", 'targets = ["*.whl"]\nproviders = ["torch-*.whl", "torch==2.8.0"]\n' + scenarios)
    sgl, newer, fitting = (pathlib.Path(wheel).name for wheel in WHEELS)
    assert one[sgl] == 1 and one[fitting] == 0, one
    assert many == {sgl: one[sgl], newer: one[newer], fitting: one[newer]}, (one, many)


if __name__ == "__main__":
    main(globals())
