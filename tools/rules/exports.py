#!/usr/bin/env python3
"""Remake the export tables rules/exports/<table>.txt (all but the Python ones).

usage: exports.py -o FILE [--note TEXT] [--header HEADER:REGEX]... SOURCE...
       exports.py -o FILE --columns NAME=SOURCE ...

SOURCE is a shared library, or WHEEL!MEMBER for one inside a wheel (MEMBER may
hold '*').  Without --columns the table is the union of the names.  With it every
source gives a column, and `name<TAB>columns` says which have the name; a name in
all columns has no second field.  --header adds the functions that a C header
declares and whose names match REGEX (for what the libraries at hand are too old for).
"""
import argparse, fnmatch, os, re, shutil, sys, tempfile, zipfile
from symbols import exports
from python_exports import encode_plain


def names_of(src):
    wheel, _, member = src.partition('!')
    if not member:
        return exports(src)
    with zipfile.ZipFile(wheel) as z:
        found = [n for n in z.namelist() if fnmatch.fnmatch(n, member)]
        if not found:
            sys.exit(f'{src}: no such member')
        out = set()
        for n in found:
            with tempfile.NamedTemporaryFile() as t, z.open(n) as f:
                shutil.copyfileobj(f, t)
                t.flush()
                out |= exports(t.name)
        return out


def header_names(spec):
    path, _, rx = spec.partition(':')
    wheel, _, member = path.partition('!')
    text = zipfile.ZipFile(wheel).read(member).decode('utf-8', 'replace') if member else open(path, errors='replace').read()
    text = re.sub(r'/\*.*?\*/|//[^\n]*', ' ', text, flags=re.S)
    names = set(re.findall(r'\b(' + rx + r')\s*\(', text))
    # cuda.h spells the per-thread-stream twins with macros
    for suffix, n in re.findall(r'\b__CUDA_API_(PTSZ|PTDS)\((\w+)\)', text):
        names.add(f'{n}_{suffix.lower()}')
    # "#define nvmlInit nvmlInit_v2": both names exist
    for n, t in re.findall(r'^\s*#\s*define\s+(' + rx + r')\s+(' + rx + r')\s*$', text, re.M):
        names |= {n, t}
    return names


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument('-o', '--output', required=True)
    ap.add_argument('--note', default='')
    ap.add_argument('--columns', action='store_true')
    ap.add_argument('--header', action='append', default=[])
    ap.add_argument('--drop', help='regular expression of names to leave out')
    ap.add_argument('source', nargs='+')
    a = ap.parse_args()
    drop = re.compile(a.drop) if a.drop else None
    keep = lambda s: {n for n in s if not (drop and drop.search(n))}
    with_cols = {}
    if a.columns:
        for s in a.source:
            c, _, src = s.partition('=')
            with_cols[c] = keep(names_of(src))
        names = set().union(*with_cols.values())
    else:
        names = set()
        for s in a.source:
            names |= keep(names_of(s))
    for h in a.header:
        names |= keep(header_names(h))
    if not names:
        sys.exit('no names')
    with open(a.output, 'w') as o:
        o.write(f'# {a.note or os.path.basename(a.output)}; made by tools/rules/exports.py\n')
        if a.columns:
            cols = list(with_cols)
            o.write('# columns: ' + ' '.join(cols) + '\n')
        for n in sorted(names):
            if a.columns:
                have = [c for c in cols if n in with_cols[c]]
                o.write(n + ('' if len(have) == len(cols) else '\t' + encode_plain(have, cols)) + '\n')
            else:
                o.write(n + '\n')


if __name__ == '__main__':
    main()
