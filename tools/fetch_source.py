#!/usr/bin/env python3
"""Fetches one source archive from the package index that pip is configured for, and checks its sha256.

    fetch_source.py [--index-url URL] <package> <file> <sha256> <out>

`pip download` cannot be used for it: it runs the archive's own set-up script. The places are pip's: the folders
and pages of find-links first, then index-url and extra-index-url, from pip's configuration files and
environment; without any, pip's own default. Exits 0 when <out> holds the file, else 1 with one line.
"""

import argparse
import ast
import base64
import hashlib
import html.parser
import json
import netrc
import os
import re
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

ACCEPT = ("application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, "
          "text/html;q=0.1")
ATTEMPTS = 3


class FetchError(Exception):
    pass


def pip_configuration():
    """pip's settings by name; as in pip, [download] overrides [global] and the environment overrides both."""
    answer = subprocess.run([sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True,
                            stdin=subprocess.DEVNULL)
    if answer.returncode != 0:
        raise FetchError(f"pip does not run (Debian package python3-pip): {answer.stderr.strip()[-300:]}")
    settings = {}
    for section in ("global", "download", ":env:"):
        for line in answer.stdout.splitlines():
            key, _, value = line.partition("=")
            if key.startswith(section + "."):
                settings[key[len(section) + 1:]] = str(ast.literal_eval(value))
    return settings


def default_index():
    from pip._internal.models.index import PyPI
    return PyPI.simple_url


class Web:
    """Opens addresses as pip would: its certificate, proxy, time limit, trusted hosts and passwords."""

    def __init__(self, settings):
        self.timeout = float(settings.get("timeout", settings.get("default-timeout", 60)))
        self.trusted = settings.get("trusted-host", "").split()
        self.cert = settings.get("cert") or os.environ.get("REQUESTS_CA_BUNDLE") or None
        proxy = settings.get("proxy")
        self.proxies = {"http": proxy, "https": proxy} if proxy else None

    def open(self, url, accept="*/*", headers=None):
        parts = urllib.parse.urlsplit(url)
        headers = {"Accept": accept, "User-Agent": "wheelvet-setup", **(headers or {})}
        host = parts.hostname or ""
        user, password = parts.username, parts.password
        if user is None and host:
            try:
                user, _, password = netrc.netrc().authenticators(host) or (None, None, None)
            except (OSError, netrc.NetrcParseError):
                pass
        if user is not None:
            word = f"{urllib.parse.unquote(user)}:{urllib.parse.unquote(password or '')}"
            headers["Authorization"] = "Basic " + base64.b64encode(word.encode()).decode()
            parts = parts._replace(netloc=parts.netloc.rpartition("@")[2])
        context = ssl.create_default_context(cafile=self.cert)
        if host in self.trusted or parts.netloc in self.trusted:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        opener = urllib.request.build_opener(urllib.request.ProxyHandler(self.proxies),
                                             urllib.request.HTTPSHandler(context=context))
        request = urllib.request.Request(urllib.parse.urlunsplit(parts._replace(fragment="")), headers=headers)
        return opener.open(request, timeout=self.timeout)


class Anchors(html.parser.HTMLParser):
    def __init__(self, base):
        super().__init__()
        self.base = base
        self.links = []

    def handle_starttag(self, tag, attrs):
        href = dict(attrs).get("href")
        if tag == "base" and href:
            self.base = urllib.parse.urljoin(self.base, href)
        elif tag == "a" and href:
            self.links.append(href)


def links_of_page(web, url):
    """(file name, address) of every file that an index page or a find-links page names."""
    with web.open(url, ACCEPT) as answer:
        body = answer.read().decode("utf-8", "replace")
        here = answer.geturl()
        kind = answer.headers.get_content_type()
    if kind.endswith("+json") or kind == "application/json":
        return [(file["filename"], urllib.parse.urljoin(here, file["url"])) for file in json.loads(body)["files"]]
    page = Anchors(here)
    page.feed(body)
    addresses = [urllib.parse.urljoin(page.base, link) for link in page.links]
    return [(urllib.parse.unquote(urllib.parse.urlsplit(address).path.rpartition("/")[2]), address)
            for address in addresses]


def local_path(place):
    if place.startswith("file:"):
        return Path(urllib.request.url2pathname(urllib.parse.urlsplit(place).path))
    return None if re.match(r"[a-z+]+://", place) else Path(place).expanduser()


def shown(url):
    """An address without its password."""
    parts = urllib.parse.urlsplit(url)
    return urllib.parse.urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment=""))


def find(web, settings, index_url, package, file):
    """Yields the addresses where the file is offered, and notes what could not be read in `troubles`."""
    project = re.sub(r"[-_.]+", "-", package).lower()
    pages = []
    for place in settings.get("find-links", "").split():
        folder = local_path(place)
        if folder is None or folder.is_file():
            pages.append(place if folder is None else folder.resolve().as_uri())
        elif (folder / file).is_file():
            yield (folder / file).resolve().as_uri(), None
    # pip reads a switch that is given as "0" or "no" as not given.
    no_index = settings.get("no-index", "").lower() in ("1", "true", "yes", "on", "y", "t")
    if index_url or not no_index:
        indexes = [index_url or settings.get("index-url") or default_index()]
        indexes += [] if index_url else settings.get("extra-index-url", "").split()
        for index in indexes:
            folder = local_path(index)
            if folder is not None:
                index = folder.resolve().as_uri()
            page = f"{index.rstrip('/')}/{project}/"
            pages.append(page + "index.html" if page.startswith("file:") else page)
    if not pages:
        yield None, "no package index is configured (no-index)"
    for page in pages:
        try:
            offered = [address for name, address in attempt(lambda: links_of_page(web, page)) if name == file]
        except (OSError, ValueError, KeyError) as error:
            yield None, f"cannot read {shown(page)}: {reason(error)}"
            continue
        if not offered:
            yield None, f"{shown(page)} does not offer {file}"
        # A page and its files share a password.
        host = urllib.parse.urlsplit(page)
        for address in offered:
            parts = urllib.parse.urlsplit(address)
            if parts.netloc == host.netloc.rpartition("@")[2]:
                address = urllib.parse.urlunsplit(parts._replace(netloc=host.netloc))
            yield address, None


def reason(error):
    return str(getattr(error, "reason", None) or error)


def attempt(action):
    for left in range(ATTEMPTS - 1, -1, -1):
        try:
            return action()
        except urllib.error.HTTPError as error:
            if error.code < 500 or not left:
                raise
        except OSError:
            if not left:
                raise
        time.sleep(2)


def download(web, url, sha256, out):
    out.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=out.parent, prefix=out.name)
    try:
        digest = hashlib.sha256()
        with os.fdopen(handle, "wb") as target, web.open(url) as source:
            while block := source.read(1 << 20):
                digest.update(block)
                target.write(block)
        if digest.hexdigest() != sha256:
            raise FetchError(f"{shown(url)} has sha256 {digest.hexdigest()}, wanted {sha256}")
        os.replace(name, out)
    finally:
        Path(name).unlink(missing_ok=True)


def fetch(package, file, sha256, out, index_url):
    if out.is_file() and hashlib.sha256(out.read_bytes()).hexdigest() == sha256:
        return
    settings = pip_configuration()
    web = Web(settings)
    troubles = []
    for url, trouble in find(web, settings, index_url, package, file):
        if trouble:
            troubles.append(trouble)
            continue
        try:
            return attempt(lambda: download(web, url, sha256, out))
        except OSError as error:
            troubles.append(f"cannot read {shown(url)}: {reason(error)}")
        except FetchError as error:
            troubles.append(str(error))
    raise FetchError("; ".join(troubles) + f". Without a network: put {file} (sha256 {sha256}) into a folder and "
                     "set PIP_FIND_LINKS to that folder")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--index-url", help="instead of the index that pip is configured for")
    options.add_argument("package")
    options.add_argument("file")
    options.add_argument("sha256")
    options.add_argument("out", type=Path)
    wanted = options.parse_args()
    try:
        fetch(wanted.package, wanted.file, wanted.sha256.lower(), wanted.out, wanted.index_url)
    except (FetchError, OSError) as error:
        print(f"fetch_source: {wanted.file}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
