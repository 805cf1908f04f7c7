#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The outcomes that headers list are those that the tables of test/live/outcomes/ bring about.

    outcomes.py ROOT

For each function of include/dibs that returns a dibs_status: what its comment lists after
"Returns" has a row, and what has a row is listed there, or is one of every function (client.h). A
comment "as dibs_lock()" has the list of that function; a try has DIBS_BUSY in place of
DIBS_TIMED_OUT.
Speaks TAP.
"""
import glob
import importlib.util
import os
import re
import sys

ROOT = sys.argv[1]
# Old names of functions: their outcomes are those of the new ones.
OLD = ('compat-0.5.h',)
# Comments of all other headers refer to functions of these.
FIRST = ('client.h', 'lock.h')
# Results of all functions on data are in data.h: what only reads is never DIBS_UNKNOWN, and what
# works on any kind never DIBS_ERR_WRONG_TYPE.
DATA = ('data.h', 'list.h', 'map.h', 'set.h')
DATA_GROUP = re.compile(r'Results of all functions on data,(.*?)Output parameters', re.S)
READS = re.compile(r'_(?:ttl|get|contains|size|each|range)$')
TABLES = 'test/live/outcomes'
# The same call by another name, and one that has its own list in words only.
LIKE_ANOTHER = {'dibs_list_names'}
# Of dibs_lock() and dibs_try_lock() only: min_replicas.
OF_MUTEXES = {'DIBS_ERR_NOT_REPLICATED'}

STATUS = re.compile(r'\bDIBS_[A-Z_]*[A-Z]\b|(?<=[ ,(])_[A-Z_]*[A-Z]\b')
ROW = re.compile(r'^  (X|NOT_HERE)\((dibs_\w+), (DIBS_\w+), ([^)]*)\)', re.M)
WAY = re.compile(r'^  WAY\((dibs_\w+), ([A-Z_ |]+),', re.M)
AS_LOCK = re.compile(r'^  AS_LOCK\((DIBS_\w+), (\w+), ([A-Z_ |0]+)\)', re.M)
RETURNS_STATUS = re.compile(r'\bdibs_status\s+(dibs_\w+)\(')
# The outcomes of every function are those of a client or handle.
OF_A_HANDLE = re.compile(r'\bdibs_status\s+(dibs_\w+)\(\s*(?:const )?'
                         r'dibs_(?:client|hold|request|observer) \*')
NEVER = re.compile(r'\bnever (DIBS_\w+)')
# A comment of the functions after it, which have none of outcomes.
GROUP = re.compile(r'/\* Each of these .*?\bReturns(.*?)\bThread\b', re.S)
LIKE = re.compile(r'\b(faults )?[Aa]s (dibs_\w+)\(\)')
TEST = re.compile(r'(?:live|cli|unit|sim)/(\w+)$')


def read(path):
    with open(os.path.join(ROOT, path), encoding='utf-8') as file:
        return file.read()


def man3():
    spec = importlib.util.spec_from_file_location('man3', os.path.join(ROOT, 'tools/man3.py'))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ---- what headers list ----

def headers():
    found = sorted(os.path.basename(path)
                   for path in glob.glob(os.path.join(ROOT, 'include/dibs/*.h')))
    return list(FIRST) + [name for name in found if name not in FIRST + OLD]


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
    return listed(text[start:text.index('pthread_cancel()', start)], statuses)


def of_handles():
    return {name for header in headers()
            for name in OF_A_HANDLE.findall(read('include/dibs/' + header))}


def like_another(name):
    """It is the same call: a name of any bytes, or the outcome comes by a callback."""
    return (name in LIKE_ANOTHER or name.endswith('_bytes') or
            name.endswith('_async') and name not in ('dibs_lock_async', 'dibs_release_async'))


def of_data(name, general, statuses):
    found = listed(DATA_GROUP.search(read('include/dibs/data.h')).group(1), statuses) - general
    found -= {'DIBS_UNKNOWN'} if READS.search(name) else set()
    return found - {'DIBS_ERR_WRONG_TYPE'} if name.startswith('dibs_data_') else found


def lists_of(header, statuses, general, lists):
    """Adds {function: the outcomes of its comment} of one header to `lists`."""
    tool = man3()
    group = GROUP.search(read('include/dibs/' + header))
    for page in tool.pages_of(os.path.join(ROOT, 'include/dibs', header)):
        text = ' '.join(' '.join(part) if isinstance(part, tuple) else part
                        for part in tool.parts_of(page)['Returns'])
        like = LIKE.search(text) or LIKE.match(' '.join(page.lines).strip())
        own = listed(text or (group.group(1) if group else ''), statuses)
        own -= set(NEVER.findall(' '.join(page.lines)))
        for base in [like] if like and like.group(2) in lists else []:
            own |= {status for status in lists[base.group(2)] - OF_MUTEXES
                    if not base.group(1) or status.startswith('DIBS_ERR_')}
        for name in RETURNS_STATUS.findall('\n'.join(page.code)):
            is_try = '_try_' in name and 'DIBS_TIMED_OUT' in own
            lists[name] = own - {'DIBS_TIMED_OUT'} | {'DIBS_BUSY'} if is_try else set(own)
            if header in DATA and 'dibs_client' in page.code[0]:
                lists[name] |= of_data(name, general, statuses) | {'DIBS_OK'}
            if name == 'dibs_try_lock':
                lists[name] |= OF_MUTEXES


# ---- what the tables have ----

def traits(text):
    return {word for word in re.split(r'[ |]+', text) if word != '0'}


def all_rows():
    """[(whether it is walked, function, outcome, situation or reason)]"""
    rows = []
    for path in sorted(glob.glob(os.path.join(ROOT, TABLES, '*.c'))):
        text = read(os.path.relpath(path, ROOT))
        rows += [(kind == 'X', name, status, why) for kind, name, status, why in ROW.findall(text)]
        rows += [(True, name, status, situation) for name, has in WAY.findall(text)
                 for status, situation, needs in AS_LOCK.findall(text)
                 if not traits(needs) or traits(needs) & traits(has)]
    return rows


def faults():
    statuses, told, lists = known(), [], {}
    general, handles = of_every_function(statuses), of_handles()
    rows = all_rows()
    for header in headers():
        before = set(lists)
        lists_of(header, statuses, general, lists)
        for name in sorted(set(lists) - before):
            if like_another(name):
                continue
            wanted, got = lists[name], {row[2] for row in rows if row[1] == name}
            if not wanted:
                told.append('%s: %s lists no outcome' % (name, header))
            told += ['%s: %s is listed in %s and has no row in %s' % (name, status, header, TABLES)
                     for status in sorted(wanted - got)]
            told += ['%s: %s has a row and is not listed in %s' % (name, status, header)
                     for status in sorted(got - wanted - (general if name in handles else set()))]
    for is_walked, name, status, why in rows:
        test = TEST.match(why)
        if not is_walked and test and not os.path.exists(
                os.path.join(ROOT, 'test', why + '_test.c')):
            told.append('%s, %s: there is no test %s' % (name, status, why))
    return told


def main():
    told = faults()
    print('1..1')
    for line in told:
        print('# ' + line)
    print('%sok 1 - the outcomes of headers are those of the tables' % ('not ' if told else ''))
    sys.exit(1 if told else 0)


main()
