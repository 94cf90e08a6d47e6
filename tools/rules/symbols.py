"""Names that an ELF file exports, through readelf (helper of the other scripts)."""
import subprocess


def exports(path, with_version=False):
    """Defined dynamic symbols another object can bind to: global, weak or unique,
    not hidden, and not the absolute symbols that only name a version node."""
    out = subprocess.run(['readelf', '--dyn-syms', '-W', path],
                         capture_output=True, text=True, errors='replace').stdout
    names = set()
    for line in out.splitlines():
        p = line.split()
        if len(p) < 8 or not p[0].endswith(':') or not p[0][:-1].isdigit():
            continue
        kind, bind, vis = p[3], p[4], p[5]
        if bind not in ('GLOBAL', 'WEAK', 'UNIQUE') or vis not in ('DEFAULT', 'PROTECTED'):
            continue
        rest = p[6:]
        while rest and rest[0].startswith('['):     # [VARIANT_PCS], [<other>: 8]
            while rest and not rest.pop(0).endswith(']'):
                pass
        if len(rest) < 2 or rest[0] == 'UND':
            continue
        name, _, ver = rest[1].partition('@')
        ver = ver.lstrip('@')
        if rest[0] == 'ABS' and kind == 'OBJECT' and (not ver or name == ver):
            continue
        if name in ('_init', '_fini', '_end', '_edata', '__bss_start', '_etext', 'etext', 'edata', 'end'):
            continue
        names.add((name, ver) if with_version else name)
    return names
