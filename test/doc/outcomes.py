#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The outcomes that headers list are those that test/live/outcomes_test.c brings about.

    outcomes.py ROOT

For each function of HEADERS that returns a dibs_status: what its comment lists after "Returns"
has a row, and what has a row is listed there, or is one of every function (client.h). A
function whose comment is "As ..." has the rows that differ. Speaks TAP.
"""
import importlib.util
import os
import re
import sys

ROOT = sys.argv[1]
HEADERS = ('lock.h',)
TABLE = 'test/live/outcomes_test.c'
# The same call with other parameters, and one that has its own list in words only.
LIKE_ANOTHER = {'dibs_lock_bytes', 'dibs_try_lock_bytes', 'dibs_inspect_bytes', 'dibs_list_names'}

STATUS = re.compile(r'\bDIBS_[A-Z_]*[A-Z]\b|(?<=[ ,(])_[A-Z_]*[A-Z]\b')
ROW = re.compile(r'^  (X|NOT_HERE)\((dibs_\w+), (DIBS_\w+), ([^)]*)\)', re.M)
RETURNS_STATUS = re.compile(r'\bdibs_status\s+(dibs_\w+)\(')
TEST = re.compile(r'(?:live|cli|unit)/(\w+)$')


def read(path):
    with open(os.path.join(ROOT, path), encoding='utf-8') as file:
        return file.read()


def man3():
    spec = importlib.util.spec_from_file_location('man3', os.path.join(ROOT, 'tools/man3.py'))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def known():
    return set(re.findall(r'^  (DIBS_\w+) = ', read('include/dibs/status.h'), re.M))


def listed(text, statuses):
    found = set()
    for word in STATUS.findall(text):
        found.add('DIBS_ERR' + word if word.startswith('_') else word)
    return found & statuses


def of_every_function(statuses):
    text = read('include/dibs/client.h')
    start = text.index('Outcomes of every function')
    return listed(text[start:text.index('*/', start)], statuses)


def returned_by(header, statuses):
    """{function: the outcomes of its comment, or None: it is like another}"""
    tool, found = man3(), {}
    for page in tool.pages_of(os.path.join(ROOT, 'include/dibs', header)):
        for name in RETURNS_STATUS.findall('\n'.join(page.code)):
            parts = [' '.join(part) if isinstance(part, tuple) else part
                     for part in tool.parts_of(page)['Returns']]
            found[name] = listed(' '.join(parts), statuses) if parts else None
    return found


def faults():
    statuses, told = known(), []
    general = of_every_function(statuses)
    rows = ROW.findall(read(TABLE))
    for header in HEADERS:
        for name, wanted in returned_by(header, statuses).items():
            if name in LIKE_ANOTHER:
                continue
            got = {status for _, function, status, _ in rows if function == name}
            if not got:
                told.append('%s has no row in %s' % (name, TABLE))
            if wanted is None:
                continue
            told += ['%s: %s is listed in %s and has no row in %s' % (name, status, header, TABLE)
                     for status in sorted(wanted - got)]
            told += ['%s: %s has a row and is not listed in %s' % (name, status, header)
                     for status in sorted(got - wanted - general)]
    for kind, name, status, why in rows:
        test = TEST.match(why)
        if kind == 'NOT_HERE' and test and not os.path.exists(
                os.path.join(ROOT, 'test', why + '_test.c')):
            told.append('%s, %s: there is no test %s' % (name, status, why))
    return told


def main():
    told = faults()
    print('1..1')
    for line in told:
        print('# ' + line)
    print('%sok 1 - the outcomes of headers are those of the table' % ('not ' if told else ''))
    sys.exit(1 if told else 0)


main()
