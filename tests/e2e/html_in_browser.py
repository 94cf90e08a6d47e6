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
PAGE = WORK / "report.html"
run("check", stub("sgl_kernel-0.3.21"), "--with", stub("torch-2.10.0"), f"--format=html={PAGE}")

# The page in a frame of the width wanted, as headless windows have a least width of their own; the frame's
# document is reached because both come from one text (srcdoc).
FRAME = """<!doctype html><iframe id=f style="width:%dpx;height:60000px;border:0" srcdoc="%s"></iframe>
<script>f.onload = () => {
  let d = f.contentDocument, wide = [];
  for (let e of d.querySelectorAll("body *")) {
    let scrolls = e.closest(".wide");
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
    for width in (1280, 390):
        document, window, wide = measured(width)
        assert window == width and document <= width and not wide, (width, document, wide)


if __name__ == "__main__":
    main(globals())
