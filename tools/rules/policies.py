#!/usr/bin/env python3
"""Remake rules/policies.toml from the policy file of the auditwheel package and
the version nodes of the newest libraries at hand.

usage: policies.py -o FILE --policy manylinux-policy.json LIBRARY...
   LIBRARY   libc.so.6, libstdc++.so.6, libgcc_s.so.1, libz.so.1 ...: the newest known
"""
import argparse, json, re, subprocess

ARCHES = ('x86_64', 'aarch64')


def vkey(v):
    return [int(x) for x in re.findall(r'\d+', v)]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument('-o', '--output', required=True)
    ap.add_argument('--policy', required=True)
    ap.add_argument('library', nargs='*')
    a = ap.parse_args()
    policies = [p for p in json.load(open(a.policy)) if p['symbol_versions']]
    newest = {}

    def seen(prefix, version):
        if re.fullmatch(r'[0-9.]+', version) and vkey(version) > vkey(newest.get(prefix, '0')):
            newest[prefix] = version

    for lib in a.library:
        text = subprocess.run(['readelf', '-V', '-W', lib], capture_output=True, text=True).stdout
        for n in re.findall(r'Name: ([A-Z]+_[\w.]+)', text.split('Version needs')[0]):
            seen(*n.split('_', 1))
    for p in policies:
        for arch in ARCHES:
            for prefix, vs in p['symbol_versions'].get(arch, {}).items():
                for v in vs:
                    seen(prefix, v)
    q = json.dumps
    with open(a.output, 'w') as o:
        o.write('# manylinux policies: which symbol versions and outside libraries a wheel may need.\n'
                '# versions are sets, not maxima.  Made by tools/rules/policies.py from the policy data of\n'
                '# auditwheel; forbidden = symbols of an allowed library that are not allowed.\n'
                '# newest: the highest version node that any released library defines.\n\n')
        o.write('newest = { ' + ', '.join(f'{k} = {q(newest[k])}' for k in sorted(newest)) + ' }\n')
        for arch in ARCHES:
            for p in policies:
                sv = p['symbol_versions'].get(arch)
                if not sv:
                    continue
                o.write(f'\n[[policy]]\nname = {q(p["name"])}\naliases = {q(p["aliases"])}\narch = {q(arch)}\n')
                o.write(f'glibc = {q(p["name"].removeprefix("manylinux_").replace("_", "."))}\n')
                o.write('versions = { ' + ', '.join(f'{k} = {q(sorted(v, key=lambda x: (vkey(x), x)))}' for k, v in sorted(sv.items())) + ' }\n')
                o.write(f'libraries = {q(sorted(p["lib_whitelist"]))}\n')
                if p.get('blacklist'):
                    o.write('forbidden = { ' + ', '.join(f'{q(k)} = {q(sorted(v))}' for k, v in sorted(p['blacklist'].items())) + ' }\n')


if __name__ == '__main__':
    main()
