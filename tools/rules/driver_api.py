#!/usr/bin/env python3
"""Remake rules/driver_api.txt: which CUDA release brought each function of the driver library.

usage: driver_api.py -o FILE [--names FILE] HEADER...

HEADER is cudaTypedefs.h (or one of its kin: cudaGLTypedefs.h, ...), or WHEEL!MEMBER for one inside a wheel, where
MEMBER may hold '*'; the newest releases last.  It has a type for every form of every function, named after the
release that brought it: PFN_cuCtxCreate_v12050 came with CUDA 12.5.  --names (default: rules/exports/libcuda.txt) is
the list of exported names: of cuCtxCreate's forms the types give the releases and the names the suffixes "", "_v2",
"_v3" ..., both oldest first.  A function with more names than types has its oldest names from before all of them.
"""
import argparse, collections, fnmatch, pathlib, re, sys, zipfile

RULES = pathlib.Path(__file__).resolve().parents[2] / 'rules'
TYPE = re.compile(r'\bPFN_(cu\w+?)_v(\d{4,5})(_ptsz|_ptds)?\)')


def texts(source):
    wheel, _, member = source.partition('!')
    if not member:
        return [pathlib.Path(source).read_text(errors='replace')]
    with zipfile.ZipFile(wheel) as archive:
        found = fnmatch.filter(archive.namelist(), member)
        if not found:
            sys.exit(f'{source}: no such member')
        return [archive.read(name).decode('utf-8', 'replace') for name in sorted(found)]


def releases(sources):
    """(function, stream suffix) -> the releases that brought a form of it, as 12050."""
    out = collections.defaultdict(set)
    for source in sources:
        for text in texts(source):
            for function, release, stream in TYPE.findall(text):
                out[function, stream or ''].add(int(release))
    return out


def forms_of(names, function, stream):
    """Exported names of the forms of a function, oldest first."""
    pattern = re.compile(re.escape(function) + r'(?:_v(\d))?' + re.escape(stream))
    found = [(int(match[1] or 1), name) for name in names if (match := pattern.fullmatch(name))]
    return [name for _, name in sorted(found)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('-o', '--output', required=True)
    parser.add_argument('--names', default=RULES / 'exports' / 'libcuda.txt')
    parser.add_argument('header', nargs='+')
    options = parser.parse_args()
    lines = pathlib.Path(options.names).read_text().splitlines()
    names = {line.split('\t')[0] for line in lines if line and not line.startswith('#')}
    first = {}
    for (function, stream), known in releases(options.header).items():
        forms = forms_of(names, function, stream) or [function + stream]
        known = sorted(known)
        # What is left over on either side is the oldest.
        for name, release in zip(reversed(forms), reversed(known)):
            first[name] = release
        for name in forms[:max(0, len(forms) - len(known))]:
            first[name] = known[0]
    with open(options.output, 'w') as out:
        out.write('# Functions of libcuda.so.1 and the CUDA release that brought each; made by tools/rules/driver_api.py\n')
        for name in sorted(first):
            release = first[name]
            out.write(f'{name}\t{release // 1000}.{release % 1000 // 10}\n')


if __name__ == '__main__':
    main()
