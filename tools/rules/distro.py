#!/usr/bin/env python3
"""Remake rules/distro.txt: which Debian package ships which shared library.

Reads the Contents and Packages indices of one suite from the mirror that this
machine's apt is configured for, and writes `soname<TAB>package` for every
lib*.so.N that lies directly in /usr/lib/<multiarch> or /lib/<multiarch> and
belongs to a run-time package (section libs or oldlibs; no -dev, no -dbg).

usage: distro.py [--suite bookworm] [--arch amd64] [--mirror URL] [-o FILE]
"""
import argparse, collections, glob, gzip, lzma, os, re, subprocess, sys, urllib.request

TRIPLET = {'amd64': 'x86_64-linux-gnu', 'arm64': 'aarch64-linux-gnu'}


def apt_mirror(suite):
    """The first archive that apt's own sources name for `suite` (or any suite)."""
    found = []
    out = subprocess.run(['apt-get', 'indextargets', '--format', '$(RELEASE) $(REPO_URI)'],
                         capture_output=True, text=True).stdout
    for line in out.splitlines():
        p = line.split()
        if len(p) == 2:
            found.append((p[0] == suite, p[1]))
    if not found:
        for f in glob.glob('/etc/apt/sources.list') + glob.glob('/etc/apt/sources.list.d/*'):
            for line in open(f, errors='replace'):
                if line.startswith('#'):
                    continue
                m = re.search(r'(https?://\S+)', line)
                if m:
                    found.append((suite in line, m.group(1)))
    found.sort(key=lambda x: not x[0])
    if not found:
        sys.exit('apt has no sources configured; give --mirror')
    return found[0][1].rstrip('/')


def get(url):
    with urllib.request.urlopen(url, timeout=120) as r:
        return r.read()


def index(mirror, suite, name):
    """One index file, in whatever compression the mirror has."""
    for ext, dec in (('.xz', lzma.decompress), ('.gz', gzip.decompress)):
        try:
            return dec(get(f'{mirror}/dists/{suite}/main/{name}{ext}')).decode('utf-8', 'replace')
        except OSError:
            continue
    sys.exit(f'no {name} in {suite}')


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument('--suite', default='bookworm')
    ap.add_argument('--arch', default='amd64')
    ap.add_argument('--mirror')
    ap.add_argument('-o', '--output')
    a = ap.parse_args()
    mirror = (a.mirror or apt_mirror(a.suite)).rstrip('/')
    sections = {}
    for block in index(mirror, a.suite, f'binary-{a.arch}/Packages').split('\n\n'):
        m = re.search(r'^Package: (\S+)', block, re.M)
        s = re.search(r'^Section: (\S+)', block, re.M)
        if m and s:
            sections[m.group(1)] = s.group(1).split('/')[-1]
    t = TRIPLET[a.arch]
    pat = re.compile(r'^(?:usr/)?lib/' + t + r'/(lib[^/ ]+\.so\.[0-9][^/ ]*|libdb-[0-9.]+\.so|lib[A-Za-z_-]+-[0-9.]+\.so)$')
    owner = collections.defaultdict(set)
    for line in index(mirror, a.suite, f'Contents-{a.arch}').splitlines():
        p = line.rsplit(None, 1)
        if len(p) != 2:
            continue
        m = pat.match(p[0])
        if not m:
            continue
        for q in p[1].split(','):
            pkg = q.split('/')[-1]
            if sections.get(pkg) not in ('libs', 'oldlibs'):
                continue
            if re.search(r'-(dev|dbg|dbgsym|debug)$', pkg):
                continue
            owner[m.group(1)].add(pkg)
    # libfoo.so.1.2.3 beside libfoo.so.1: the shorter one is the soname and the
    # longer its target, so the longest of a chain is dropped.  Middle ones stay
    # (libbz2.so.1.0 is a soname, between libbz2.so.1 and libbz2.so.1.0.4).
    by_stem = collections.defaultdict(list)
    for so in owner:
        by_stem[so.split('.so.')[0]].append(so)
    keep = {}
    for so, pk in owner.items():
        parts = so.split('.so.')
        if len(parts) == 2 and '.' in parts[1]:
            v = parts[1].split('.')
            longer = any(o.startswith(so + '.') and owner[o] & pk for o in by_stem[parts[0]])
            if not longer and any(f"{parts[0]}.so.{'.'.join(v[:i])}" in owner and
                   owner[f"{parts[0]}.so.{'.'.join(v[:i])}"] & pk for i in range(1, len(v))):
                continue
        # several packages may hold it (systemd and its stand-ins): the one that is
        # named after the library wins, then the shortest name
        stem = so.split('.so')[0].lower().replace('_', '-').replace('+', '')
        keep[so] = sorted(pk, key=lambda x: (not x.replace('+', '').startswith(stem), len(x), x))[0]
    out = open(a.output, 'w') if a.output else sys.stdout
    out.write(f'# shared library -> Debian package, suite {a.suite}, {a.arch}; made by tools/rules/distro.py\n')
    for so in sorted(keep):
        out.write(f'{so}\t{keep[so]}\n')


if __name__ == '__main__':
    main()
