#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints which tests of a build directory ./check runs, or which targets they need.

    pick_tests.py BUILD gate SUITE...       names of the tests of these suites that are in the gate
    pick_tests.py BUILD sanitized SUITE...  those of the gate that it runs with ASan and UBSan, too
    pick_tests.py BUILD rest SUITE...       names of the others, which only ./check --all runs
    pick_tests.py BUILD targets WORD...     what ninja has to build for these suites and tests

No two tests have one name: meson ends in the middle of a run that has both, and its other tests
do not run. The gate has every test but those that test/all_only.txt names with a reason. A name
there that no test has is an error, so that the list is never older than the tests; a "?" behind
it says that the test is built only where what it needs is installed.
"""
import json
import os
import re
import subprocess
import sys
from collections import Counter

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIST = 'test/all_only.txt'
# Not with sanitizers: the modes of a script test run the same C code, and of the simulator the
# seeds alone are played.
NOT_SANITIZED = re.compile(r'script_.*_(functions|cluster|sharded|guard)$'
                           r'|sim_(?!seeds$|seeds_redisson$)|wire_diff$')
# Suites of which nothing is in the gate.
NEVER = {'deployments', 'peers', 'fault', 'fault_dialects', 'bench', 'python', 'portable'}


def introspected(build, what):
    return json.loads(subprocess.run(['meson', 'introspect', '--' + what, build], check=True,
                                     capture_output=True, text=True).stdout)


def suites_of(test):
    return {suite.split(':')[-1] for suite in test['suite']}


def left_out(tests):
    """{(suite, name)} of the list."""
    known = {(suite, test['name']) for test in tests for suite in suites_of(test)}
    rows = set()
    with open(os.path.join(ROOT, LIST), encoding='ascii') as file:
        for number, line in enumerate(file, 1):
            words = line.split('#')[0].split(None, 1)
            if not words:
                continue
            suite, _, name = words[0].rstrip('?').partition('/')
            if len(words) < 2:
                sys.exit(f'{LIST}:{number}: {words[0]} has no reason')
            if (suite, name) not in known and not words[0].endswith('?') and \
                    suite in {a for a, _ in known}:
                sys.exit(f'{LIST}:{number}: no test {name} in the suite {suite}')
            rows.add((suite, name))
    return rows


def main():
    build, what, words = os.path.abspath(sys.argv[1]), sys.argv[2], set(sys.argv[3:])
    tests = introspected(build, 'tests')
    names = Counter(test['name'] for test in tests)
    twice = [name for name, count in names.items() if count > 1]
    if twice:
        sys.exit('two tests have one name: ' + ', '.join(twice))
    if what == 'targets':
        needed = {target for test in tests if words & (suites_of(test) | {test['name']})
                  for target in test['depends']}
        for target in introspected(build, 'targets'):
            if target['id'] in needed:
                for name in target['filename']:
                    print(os.path.relpath(name, build))
        return
    rows = left_out(tests)
    for test in tests:
        for suite in suites_of(test) & words:
            is_rest = suite in NEVER or (suite, test['name']) in rows
            if what == 'sanitized' and NOT_SANITIZED.match(test['name']):
                continue
            if is_rest == (what == 'rest'):
                print(test['name'])


if __name__ == '__main__':
    main()
