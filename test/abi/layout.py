#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The layout of all public structs is that of test/abi/layout.txt.

    layout.py ROOT COMPILER...            compares; speaks TAP
    layout.py ROOT --write COMPILER...    writes the list again

A program that was compiled with the headers of one version has these sizes and offsets in it. A
struct of the library's may get fields at its end only; one that a program makes has a `size`,
too. The list is of LP64: 64-bit Linux.
"""
import os
import re
import subprocess
import sys
import tempfile

LIST = 'test/abi/layout.txt'
COMMENT = re.compile(r'/\*.*?\*/', re.S)
DIRECTIVE = re.compile(r'^\s*#.*(?:\\\n.*)*', re.M)
STRUCT = re.compile(r'typedef struct (dibs_\w+) \{(.*?)\} \1;', re.S)
POINTER_TO_FUNCTION = re.compile(r'\(\*(\w+)\)')
NAME = re.compile(r'(\w+)(?:\[[^]]*\])*$')


def fields_of(body):
    """The names of the fields that a struct declares."""
    for declaration in re.split(r';', body):
        words = declaration.strip()
        function = POINTER_TO_FUNCTION.search(words)
        if function:
            yield function.group(1)
        elif words:
            for one in words.split(','):
                yield NAME.search(one.strip()).group(1)


def structs(root):
    for header in sorted(os.listdir(os.path.join(root, 'include/dibs'))):
        if header.endswith('.h') and not header.startswith('compat-'):
            with open(os.path.join(root, 'include/dibs', header), encoding='utf-8') as file:
                text = DIRECTIVE.sub('', COMMENT.sub('', file.read()))
            for name, body in STRUCT.findall(text):
                yield name, list(fields_of(body))


def program(root):
    """A C program that prints the list."""
    lines = ['#include <stdio.h>', '#include <dibs/dibs.h>', '#include <dibs/sim.h>',
             '#define SIZE_OF(s, f) sizeof(((s *)0)->f)', 'int main(void)', '{']
    for name, fields in structs(root):
        lines.append(f'  printf("{name} %zu\\n", sizeof({name}));')
        lines += [f'  printf("  {field} %zu %zu\\n", offsetof({name}, {field}), '
                  f'SIZE_OF({name}, {field}));' for field in fields]
    return '\n'.join(lines + ['  return 0;', '}', ''])


def layout(root, compiler):
    with tempfile.TemporaryDirectory() as place:
        source, made = os.path.join(place, 'layout.c'), os.path.join(place, 'layout')
        with open(source, 'w', encoding='utf-8') as file:
            file.write(program(root))
        subprocess.run([*compiler, '-I' + os.path.join(root, 'include'), source, '-o', made],
                       check=True)
        return subprocess.run([made], check=True, capture_output=True, text=True).stdout


def faults(listed, seen):
    """What differs, and what no struct may have."""
    here, there = listed.splitlines(), seen.splitlines()
    told = ['missing: ' + line for line in here if line not in there]
    told += ['new: ' + line for line in there if line not in here]
    return told or (['the order of the list'] if listed != seen else [])


def padded(seen):
    """Structs whose last field ends before they do: a field that is added later would lie in what
    an older program does not set, and the size would not change."""
    name, size, end = None, 0, 0
    for line in seen.splitlines() + ['end 0']:
        words = line.split()
        if line.startswith('  '):
            end = int(words[1]) + int(words[2])
        else:
            if name and end != size:
                yield name
            name, size = words[0], int(words[1])


def main():
    root, compiler = sys.argv[1], sys.argv[2:]
    is_write = compiler[0] == '--write'
    seen = layout(root, compiler[is_write:])
    path = os.path.join(root, LIST)
    if is_write:
        with open(path, 'w', encoding='utf-8') as file:
            file.write(seen)
        return 0
    with open(path, encoding='utf-8') as file:
        told = faults(file.read(), seen)
    ends = sorted(padded(seen))
    print('1..2')
    for line in told[:40]:
        print('# ' + line)
    print(f"{'not ' if told else ''}ok 1 - the layout is that of {LIST} (layout.py --write)")
    for name in ends:
        print(f'# {name}: add a field "reserved" at its end')
    print(f"{'not ' if ends else ''}ok 2 - no struct has padding at its end")
    return 1 if told or ends else 0


if __name__ == '__main__':
    sys.exit(main())
