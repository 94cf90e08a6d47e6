#!/usr/bin/env python3
"""Remake rules/exports/python.txt and rules/exports/stable_abi.txt.

Each column of python.txt is one CPython ABI (minor version, with `t` for the
free-threaded build).  A column is the union of the exports of all binaries given
for it, so that a name which came or went between patch releases still counts
as present.

A free-threaded build that no binary is at hand for is derived: the names of the
ordinary build, plus those that the headers declare only with Py_GIL_DISABLED.
An ordinary name that the headers do not declare with Py_GIL_DISABLED, and that
is not in the stable ABI, gets a trailing `?` (kept: a wrong "absent" is worse).

usage: python_exports.py -o DIR [--toml stable_abi.toml] COLUMN=FILE[,note] ...
                         COLUMN=headers:INCLUDE_DIR[:PYCONFIG_DIR][,note]
   FILE  a libpython shared library or a python executable
   note  what stands in the header for it (default: the file's base name)
The stable ABI comes from --toml, else from the installed package abi3info.
"""
import argparse, collections, glob, os, re, subprocess, sys, tomllib
from symbols import exports


def key(col):
    m = re.match(r'3\.(\d+)(t?)$', col)
    return (int(m.group(1)), m.group(2))


def declared(spec, gil_disabled):
    """Names that the headers declare as exported, through the preprocessor."""
    dirs = spec.split(':')
    inc = dirs[0]
    names = set()
    heads = ['Python.h'] + [h[len(inc) + 1:] for d in ('', 'cpython/', 'internal/')
                            for h in sorted(glob.glob(f'{inc}/{d}*.h'))]
    # an internal header with a missing include stops the preprocessor, so each is read alone
    for h in heads:
        src = f'#include "Python.h"\n#include "{h}"\n'
        cmd = ['gcc', '-E', '-P', '-w', '-x', 'c', '-', '-DPyAPI_FUNC(t)=@F@ t', '-DPyAPI_DATA(t)=extern @D@ t',
               '-I' + inc, '-I' + inc + '/internal', *('-I' + d for d in dirs[1:])]
        if h.startswith('internal/'):
            cmd.append('-DPy_BUILD_CORE=1')
        if gil_disabled:
            cmd.append('-DPy_GIL_DISABLED=1')
        text = subprocess.run(cmd, input=src, capture_output=True, text=True).stdout
        for m in re.finditer(r'@\s*F\s*@([^;{]*)', text):
            n = re.search(r'(\w+)\s*\(', m.group(1))
            if n:
                names.add(n.group(1))
        for m in re.finditer(r'@\s*D\s*@([^;=]*)', text):
            n = re.search(r'(\w+)\s*(\[[^\]]*\]\s*)*$', m.group(1))
            if n:
                names.add(n.group(1))
    return names


def encode(have, cols):
    """Column names, runs of three or more as a range."""
    if all(c in have for c in cols):
        return None
    if any(h.endswith('?') for h in have):
        # a doubtful column stands alone, outside ranges
        out, part = [], []
        for c in cols:
            if c + '?' in have:
                out += ([encode_plain(part, cols)] if part else []) + [c + '?']
                part = []
            elif c in have:
                part.append(c)
        if part:
            out.append(encode_plain(part, cols))
        return ','.join(out)
    return encode_plain(have, cols)


def encode_plain(have, cols):
    out, i = [], 0
    while i < len(cols):
        if cols[i] not in have:
            i += 1
            continue
        j = i
        while j + 1 < len(cols) and cols[j + 1] in have:
            j += 1
        out += [cols[i]] if i == j else [cols[i], cols[j]] if j == i + 1 else [f'{cols[i]}-{cols[j]}']
        i = j + 1
    return ','.join(out)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument('-o', '--outdir', required=True)
    ap.add_argument('--toml')
    ap.add_argument('inputs', nargs='+')
    a = ap.parse_args()
    files = collections.defaultdict(list)
    for x in a.inputs:
        col, _, rest = x.partition('=')
        f, _, note = rest.partition(',')
        files[col].append((f, note or os.path.basename(f)))
    cols = sorted(files, key=key)
    rows = {}
    if a.toml:
        d = tomllib.load(open(a.toml, 'rb'))
        for kind in ('function', 'data'):
            for n, e in d.get(kind, {}).items():
                rows[n] = (e['added'], e.get('ifdef'))
    else:
        try:
            import abi3info
        except ImportError:
            sys.exit('stable_abi.txt needs --toml or the package abi3info')
        for sym, e in [*abi3info.FUNCTIONS.items(), *abi3info.DATAS.items()]:
            rows[sym.name] = (f'{e.added.major}.{e.added.minor}', e.ifdef and e.ifdef.name)
    stable = set(rows)
    have = collections.defaultdict(set)
    head = []
    for c in cols:
        notes = []
        for f, note in files[c]:
            if f.startswith('headers:'):
                plain, free = declared(f[8:], False), declared(f[8:], True)
                base = {n for n in have if c[:-1] in have[n]}
                if len(free) < 1000 or not base:
                    sys.exit(f'{c}: headers not usable')
                for n in base | (free - plain):
                    if n in base and n not in free and (n in plain or n not in stable):
                        have[n].add(c + '?')
                    else:
                        have[n].add(c)
                notes.append(f'{note} (the names of {c[:-1]}, and {len(free - plain - base)} more '
                             f'that headers declare; {len([n for n in base - free if n in plain or n not in stable])} names of {c[:-1]} unsure)')
                continue
            names = exports(f)
            if f.endswith('.so') or '.so.' in f:
                pass
            else:       # an executable also exports what is linked into it statically
                names = {n for n in names if re.match(r'_?_?Py|PY_', n)}
            names = {n for n in names if not n.startswith('PyInit_')}   # built-in modules' own
            if not names:
                sys.exit(f'{f}: no exports')
            for n in names:
                have[n].add(c)
            notes.append(f'{note} ({len(names)})')
        head.append(f'# {c}: ' + '; '.join(notes))
    # `python.c`'s own and compiler leftovers are no API
    for n in list(have):
        if not re.match(r'_*Py|PY_', n):
            del have[n]
    with open(f'{a.outdir}/python.txt', 'w') as o:
        o.write('# Names exported by the CPython interpreter, per minor version (t = free-threaded).\n'
                '# Each column is the union over the binaries named; in brackets how many names each has.\n'
                '# Made by tools/rules/python_exports.py.\n')
        o.write('\n'.join(head) + '\n')
        o.write('# columns: ' + ' '.join(cols) + '\n')
        for n in sorted(have):
            e = encode(have[n], cols)
            o.write(n + (f'\t{e}' if e else '') + '\n')
    with open(f'{a.outdir}/stable_abi.txt', 'w') as o:
        o.write('# Functions and data of the stable ABI on Linux, and the version that added each to it.\n'
                '# Left out: what only Windows or debugging builds have.  Made by tools/rules/python_exports.py.\n')
        for n in sorted(rows):
            if rows[n][1] not in ('MS_WINDOWS', 'USE_STACKCHECK', 'Py_REF_DEBUG', 'Py_TRACE_REFS'):
                o.write(f'{n}\t{rows[n][0]}\n')


if __name__ == '__main__':
    main()
