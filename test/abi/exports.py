#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The exported symbols of a library are the list, the list is the headers.

    exports.py ROOT NM READELF LIBRARY

symbols.txt is libdibs', symbols-data.txt libdibs-data's: of the headers whose head names that.
libdibs-sim exports both and symbols-sim.txt, its header is sim.h.

What libdibs exports for libdibs-data of the same version is in src/api/private.h.

Speaks TAP.
"""
import os
import re
import subprocess
import sys

# What a program that uses dibs loads besides it.
NEEDED = ('libc.', 'libhiredis.', 'libpthread.', 'libdl.', 'ld-linux', 'ld-musl', 'libm.')
NEEDED_BY_SIM = ('liblua', 'libcrypto.', 'libssl.')
NEEDED_BY_DATA = ('libc.', 'libdibs.', 'ld-linux', 'ld-musl')
PRIVATE = 'dibs_private_'
LISTS = {'': ['symbols.txt'], '-data': ['symbols-data.txt'],
         '-sim': ['symbols.txt', 'symbols-data.txt', 'symbols-sim.txt']}


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def exported(nm, library):
    """{name: the node of the map}"""
    names = {}
    for line in run(nm, '-D', '--defined-only', library).splitlines():
        words = line.split()
        if words[-2] not in ('A',):
            name, _, node = words[-1].partition('@')
            names[name] = node.lstrip('@')
    return names


def library_of(text):
    """What a program links for a header: '' libdibs, '-data', '-sim'."""
    linked = re.search(r'Link with -ldibs([-a-z]*)', text[:text.index('#define')])
    return linked.group(1) if linked else ''


def declared(root, kind):
    """The functions that the public headers mark with DIBS_API."""
    names = set()
    folder = os.path.join(root, 'include/dibs')
    for name in os.listdir(folder):
        if not name.endswith('.h'):
            continue
        with open(os.path.join(folder, name), encoding='utf-8') as header:
            text = header.read()
        if kind not in ('-sim', library_of(text)):
            continue
        text = re.sub(r'/\*.*?\*/', '', text, flags=re.S)
        text = re.sub(r'^#.*$', '', text, flags=re.M)
        for match in re.finditer(r'DIBS_API\b([^;]*?)(\w+)\s*\(', text):
            names.add(match.group(2))
    return names


def differences(left, right, left_name, right_name):
    found = [f'{name} is in {left_name}, not in {right_name}' for name in left - right]
    found += [f'{name} is in {right_name}, not in {left_name}' for name in right - left]
    return sorted(found)


def version(root):
    with open(os.path.join(root, 'include/dibs/version.h'), encoding='utf-8') as header:
        return re.search(r'DIBS_VERSION "([\d.]+)', header.read()).group(1)


def series(root):
    """What the soname ends in: before 1.0 each minor version may change the interface."""
    major, minor, _ = version(root).split('.')
    return f'0.{minor}' if major == '0' else major


def private_faults(root, kind, found):
    """`found`: {name: node} of what is exported beside the public interface."""
    if kind != '':
        return [f'{name} is exported' for name in sorted(found)]
    with open(os.path.join(root, 'src/api/private.h'), encoding='utf-8') as header:
        wanted = set(re.findall(rf'\b({PRIVATE}\w+)\(', header.read()))
    node = 'DIBS_PRIVATE_' + version(root)
    return (differences(set(found), wanted, 'the library', 'api/private.h') +
            [f'{name} is in {found[name]}, not in {node}' for name in sorted(found)
             if found[name] != node])


def main():
    root, nm, readelf, library = sys.argv[1:5]
    kind = re.match(r'libdibs([-a-z]*)\.so', os.path.basename(library)).group(1)
    lines = []
    for name in LISTS[kind]:
        with open(os.path.join(root, 'test/abi', name), encoding='utf-8') as file:
            lines += [line.strip() for line in file]
    listed = sorted(line for line in lines if line and not line.startswith('#'))
    all_names = exported(nm, library)
    names = {name for name in all_names if not name.startswith(PRIVATE)}
    dynamic = run(readelf, '-d', library)
    needed = re.findall(r'NEEDED.*\[(.*)\]', dynamic)
    soname = re.findall(r'SONAME.*\[(.*)\]', dynamic)
    results = [
        ('the_library_exports_what_is_listed',
         differences(names, set(listed), 'the library', 'symbols.txt')),
        ('the_list_is_what_the_headers_declare',
         differences(declared(root, kind), set(listed), 'the headers', 'symbols.txt')),
        ('no_foreign_symbol_is_exported',
         sorted(name for name in names if not name.startswith('dibs_'))),
        ('the_list_is_without_doubles',
         [] if listed == sorted(set(listed)) else ['a name is twice in the list']),
        ('the_soname_changes_with_each_version_that_may_break_programs',
         [] if soname == [f'libdibs{kind}.so.{series(root)}']
         else [f'soname {soname}']),
        ('nothing_unknown_is_loaded_with_it',
         [name for name in needed if not name.startswith(
             NEEDED_BY_DATA if kind == '-data' else NEEDED + NEEDED_BY_SIM * (kind == '-sim'))]),
        ('what_libraries_of_one_version_share_is_declared_and_has_that_version',
         private_faults(root, kind, {name: node for name, node in all_names.items()
                                     if name.startswith(PRIVATE)})),
    ]
    print(f'1..{len(results)}')
    for number, (name, found) in enumerate(results, 1):
        print(f"{'not ok' if found else 'ok'} {number} - {name}")
        for line in found:
            print(f'# {line}')
    return 1 if any(found for _, found in results) else 0


if __name__ == '__main__':
    sys.exit(main())
