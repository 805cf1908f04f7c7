#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The static probes of the library are there, as the guide lists them, and the scripts for
bpftrace use no others.

    probes.py ROOT READELF LIBRARY

Reads the ELF notes of the finished library. Speaks TAP.
"""
import glob
import os
import re
import subprocess
import sys

ROOT, READELF, LIBRARY = sys.argv[1:4]
NOTE = re.compile(r'Provider: (\S+)\s+Name: (\S+)\s+Location: \S+ Base: \S+ Semaphore: (\S+)'
                  r'\s+Arguments: (.*)')
ROW = re.compile(r'^\| `(\w+)` \| (.*?) \|', re.M)


def text_of(path):
    with open(os.path.join(ROOT, path), encoding='utf-8') as file:
        return file.read()


def probes():
    """{ name: (semaphore, number of arguments) }"""
    shown = subprocess.run([READELF, '-nW', LIBRARY], text=True, capture_output=True, check=True)
    found = NOTE.findall(shown.stdout)
    assert {provider for provider, _, _, _ in found} == {'dibs'}, shown.stdout
    return {name: (int(semaphore, 16), len(arguments.split()))
            for _, name, semaphore, arguments in found}


def rows():
    """{ name: arguments } of the guide."""
    page = text_of('doc/guide/what-is-going-on.md')
    table = page[page.index('| probe |'):]
    table = table[:table.index('\n\n')]
    return {name: arguments.split(', ') for name, arguments in ROW.findall(table)}


def the_guide_lists_the_probes_and_their_arguments():
    given = {name: count for name, (_, count) in probes().items()}
    listed = {name: len(arguments) for name, arguments in rows().items()}
    assert given == listed, (given, listed)


def each_probe_is_off_until_a_tracer_counts_its_semaphore_up():
    semaphores = [semaphore for semaphore, _ in probes().values()]
    assert 0 not in semaphores and len(set(semaphores)) == len(semaphores), semaphores


def the_scripts_for_bpftrace_use_probes_and_arguments_that_exist():
    paths = glob.glob(os.path.join(ROOT, 'contrib/bpftrace/*.bt'))
    assert paths
    for path in paths:
        actions = re.findall(r'^usdt:\*:dibs:(\w+)\n(.*?^\})', text_of(path), re.M | re.S)
        assert actions, path
        for name, action in actions:
            arguments = [int(number) for number in re.findall(r'\barg(\d)', action)]
            assert max(arguments) < probes()[name][1], (path, name)


def main():
    tests = [the_guide_lists_the_probes_and_their_arguments,
             each_probe_is_off_until_a_tracer_counts_its_semaphore_up,
             the_scripts_for_bpftrace_use_probes_and_arguments_that_exist]
    print('1..%d' % len(tests))
    for number, test in enumerate(tests, 1):
        try:
            test()
            print('ok %d - %s' % (number, test.__name__))
        except (AssertionError, ValueError, KeyError) as why:
            print('not ok %d - %s\n# %r' % (number, test.__name__, why))


main()
