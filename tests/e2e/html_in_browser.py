"""The HTML report in headless Chromium: nothing is wider than the window, on a desk or on a phone."""

import pathlib
import re
import shutil
import subprocess
import tempfile

from support import main, run, skip, stub

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
if not BROWSER:
    skip("there is no chromium")
WORK = pathlib.Path(tempfile.mkdtemp())
PAGE, TABLE = WORK / "report.html", WORK / "matrix.html"
run("check", stub("sgl_kernel-0.3.21"), "--with", stub("torch-2.10.0"), f"--format=html={PAGE}")
(WORK / "matrix.toml").write_text(f'targets = ["{stub("sgl_kernel-0.3.21")}", "{stub("torch-2.9.1")}"]\n'
                                  'providers = ["torch==2.8.0", "torch==2.9.1", "torch==2.10.0"]\n')
run("matrix", WORK / "matrix.toml", "--no-cache", f"--format=html={TABLE}")
LONG = WORK / "long.html"
(WORK / "long.toml").write_text(
    f'targets = ["{stub("sgl_kernel-0.3.21")}"]\nproviders = ["torch==2.8.0", "torch==2.9.1", "torch==2.10.0"]\n' +
    "".join(f'[[scenario]]\nname = "{letter * 100}"\npython = "3.12"\n' for letter in "ab"))
run("matrix", WORK / "long.toml", "--no-cache", f"--format=html={LONG}")

# The page in a frame of the width wanted, as headless windows have a least width of their own; the frame's
# document is reached because both come from one text (srcdoc).
FRAME = """<!doctype html><iframe id=f style="width:%dpx;height:60000px;border:0" srcdoc="%s"></iframe>
<script>f.onload = () => {
  let d = f.contentDocument, wide = [];
  for (let e of d.querySelectorAll("body *")) {
    let scrolls = e.closest(".wide");
    if (e.matches(".cells") && e.getBoundingClientRect().width > 1280) wide.push("cells");
    if (!scrolls && e.getBoundingClientRect().right > %d + 1) wide.push(e.tagName + "." + e.className);
  }
  document.title = [d.documentElement.scrollWidth, d.documentElement.clientWidth, wide.join(" ")].join("|");
};</script>"""


def measured(width, page=PAGE):
    """Width of the document, width of the window, elements that stick out."""
    text = page.read_text().replace("&", "&amp;").replace('"', "&quot;")
    frame = WORK / f"frame-{width}.html"
    frame.write_text(FRAME % (width, text, width))
    done = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={WORK / 'profile'}",
                           "--virtual-time-budget=5000", "--dump-dom", frame.as_uri()],
                          capture_output=True, text=True, timeout=100)
    title = re.search(r"<title>(\d+)\|(\d+)\|([^<]*)</title>", done.stdout)
    if not title:
        skip("chromium does not start here")
    return int(title[1]), int(title[2]), title[3].split()


def test_nothing_overflows_at_1280_and_at_390_pixels():
    for page in (PAGE, TABLE, LONG):
        for width in (1280, 390):
            document, window, wide = measured(width, page)
            assert window == width and document <= width and not wide, (page, width, document, wide)


def test_a_cell_of_the_table_opens_what_it_stands_for_and_heads_sort():
    """The page's own script, driven by one more."""
    driven = WORK / "driven.html"
    page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", TABLE.read_text())
    driven.write_text(page.replace("</body>", """<script>
      document.querySelector("td a.fails").click();
      let open = [...document.querySelectorAll("details[open]")].map(d => d.querySelector("summary").textContent);
      document.querySelector("th button").click();
      let up = document.querySelector("tbody td").textContent;
      document.querySelector("th button").click();
      document.title = [open.join("&"), up, document.querySelector("tbody td").textContent].join("|");
    </script></body>"""))
    done = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={WORK / 'profile'}",
                           "--virtual-time-budget=5000", "--dump-dom", driven.as_uri()],
                          capture_output=True, text=True, timeout=100)
    opened, up, down = re.search(r"<title>([^<]*)</title>", done.stdout)[1].split("|")
    assert "beside torch==2.8.0: FAILS SYM-001" in opened and opened.count("beside") == 1, opened
    assert (up, down) == ("sgl_kernel-0.3.21", "torch-2.9.1")


if __name__ == "__main__":
    main(globals())
