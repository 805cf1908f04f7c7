#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The exported symbols of a library are the list, the list is the headers.

    exports.py ROOT NM READELF LIBRARY

symbols.txt is libdibs'; libdibs-sim exports the same and symbols-sim.txt, its header is sim.h.

Speaks TAP.
"""
import os
import re
import subprocess
import sys

# What a program that uses dibs loads besides it.
NEEDED = ('libc.', 'libhiredis.', 'libssl.', 'libcrypto.', 'libinih.', 'libpthread.',
          'ld-linux', 'ld-musl', 'libm.')
NEEDED_BY_SIM = ('liblua',)


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def exported(nm, library):
    names = set()
    for line in run(nm, '-D', '--defined-only', library).splitlines():
        words = line.split()
        if words[-2] not in ('A',):
            names.add(words[-1].split('@')[0])
    return names


def declared(root, is_sim):
    """The functions that the public headers mark with DIBS_API."""
    names = set()
    folder = os.path.join(root, 'include/dibs')
    for name in os.listdir(folder):
        if not name.endswith('.h') or (name == 'sim.h' and not is_sim):
            continue
        with open(os.path.join(folder, name), encoding='utf-8') as header:
            text = re.sub(r'/\*.*?\*/', '', header.read(), flags=re.S)
        text = re.sub(r'^#.*$', '', text, flags=re.M)
        for match in re.finditer(r'DIBS_API\b([^;]*?)(\w+)\s*\(', text):
            names.add(match.group(2))
    return names


def differences(left, right, left_name, right_name):
    found = [f'{name} is in {left_name}, not in {right_name}' for name in left - right]
    found += [f'{name} is in {right_name}, not in {left_name}' for name in right - left]
    return sorted(found)


def series(root):
    """What the soname ends in: before 1.0 each minor version may change the interface."""
    with open(os.path.join(root, 'include/dibs/version.h'), encoding='utf-8') as header:
        major, minor = re.search(r'DIBS_VERSION "(\d+)\.(\d+)', header.read()).groups()
    return f'0.{minor}' if major == '0' else major


def main():
    root, nm, readelf, library = sys.argv[1:5]
    is_sim = 'dibs-sim' in os.path.basename(library)
    lines = []
    for name in ['symbols.txt'] + ['symbols-sim.txt'] * is_sim:
        with open(os.path.join(root, 'test/abi', name), encoding='utf-8') as file:
            lines += [line.strip() for line in file]
    listed = sorted(line for line in lines if line and not line.startswith('#'))
    names = exported(nm, library)
    dynamic = run(readelf, '-d', library)
    needed = re.findall(r'NEEDED.*\[(.*)\]', dynamic)
    soname = re.findall(r'SONAME.*\[(.*)\]', dynamic)
    results = [
        ('the_library_exports_what_is_listed',
         differences(names, set(listed), 'the library', 'symbols.txt')),
        ('the_list_is_what_the_headers_declare',
         differences(declared(root, is_sim), set(listed), 'the headers', 'symbols.txt')),
        ('no_foreign_symbol_is_exported',
         sorted(name for name in names if not name.startswith('dibs_'))),
        ('the_list_is_without_doubles',
         [] if listed == sorted(set(listed)) else ['a name is twice in the list']),
        ('the_soname_changes_with_each_version_that_may_break_programs',
         [] if soname == [f"libdibs{'-sim' * is_sim}.so.{series(root)}"]
         else [f'soname {soname}']),
        ('nothing_unknown_is_loaded_with_it',
         [name for name in needed
          if not name.startswith(NEEDED + NEEDED_BY_SIM * is_sim)]),
    ]
    print(f'1..{len(results)}')
    for number, (name, found) in enumerate(results, 1):
        print(f"{'not ok' if found else 'ok'} {number} - {name}")
        for line in found:
            print(f'# {line}')
    return 1 if any(found for _, found in results) else 0


if __name__ == '__main__':
    sys.exit(main())
