#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Exit codes have one meaning each: the table of src/cli/exit_codes.h is that of dibs(1), the guide
names the code of each status as code_of_status() does, and no source has a number of its own."""
import glob
import os
import re

from harness import *  # noqa

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')


def _read(path):
    with open(os.path.join(ROOT, path)) as f:
        return f.read()


def _rows():
    text = re.sub(r'" \\\n\s+"', '', _read('src/cli/exit_codes.h'))
    return re.findall(r'ROW\((\w+), (\d+), "([^"]+)"\)', text)


ROWS = _rows()
CODES = {name: int(number) for name, number, _ in ROWS}


def every_code_has_one_meaning():
    assert len(ROWS) > 14, ROWS
    equal(len({number for _, number, _ in ROWS}), len(ROWS))
    equal(len({meaning for _, _, meaning in ROWS}), len(ROWS))


def the_manual_has_the_same_table():
    page = _read('doc/man/dibs.1.scd').split('# EXIT STATUS')[1].split('\n# ')[0]
    page = page.replace('*', '').replace('\\', '')
    table = re.findall(r'^\|  (\d+)\n:  (.*)$', page, re.M)
    equal(table, [(number, meaning) for _, number, meaning in ROWS])


def _codes_of_statuses():
    text = _read('src/cli/session.c').split('int code_of_status')[1].split('\n}')[0]
    found = {status: CODES[code]
             for status, code in re.findall(r'{ (DIBS_\w+), CODE_(\w+) }', text)}
    lost = re.search(r'if \(dibs_status_is_lost\(status\)\)\n    return CODE_(\w+);', text).group(1)
    found.update(dict.fromkeys(('DIBS_LOST', 'DIBS_EXPIRED', 'DIBS_TAKEN'), CODES[lost]))
    return found


def the_guide_has_the_code_of_each_status():
    codes = _codes_of_statuses()
    assert len(codes) > 15, codes
    table = _read('doc/guide/time-limits.md').split('# Every status and what to do')[1]
    seen = {}
    for names, code in re.findall(r'^\| ([^|]*`[^|]*) \| (\d+) \|', table, re.M):
        before = ''
        for name in re.findall(r'`(\w+)`', names):
            before = name if name.startswith('DIBS') else 'DIBS_ERR' + name
            seen[before] = int(code)
    for status, code in codes.items():
        equal(seen.get(status), code, status)
    for status, code in seen.items():
        equal(code, codes.get(status, CODES['INTERNAL']), status)


def no_source_has_a_number_of_its_own():
    own = re.compile(r'return (6[4-9]|7\d|8[01]);|\bexit\((6[4-9]|7\d|8[01])\)|CODE_\w+ = [2-9]')
    for path in glob.glob(os.path.join(ROOT, 'src/cli/*.c')):
        assert not own.search(_read(path)), path


def what_had_78_has_codes_of_its_own():
    dibs('sem', 'set', 'codes:sem', '2')
    url = {'DIBS_URL': 'redsi://h'}
    for words, env, code in (
            (['run', '-j', '3', 'codes:sem', 'true'], {}, CODES['OTHER_USE']),
            (['run', 'codes:sem', 'true'], {}, CODES['OTHER_USE']),
            (['latch', 'down', 'codes:latch'], {}, CODES['NOT_SET']),
            (['run', '--take', '1', 'codes:none', 'true'], {}, CODES['NOT_SET']),
            (['run', 'codes:in', '--', DIBS, 'run', 'codes:in', 'true'], {}, CODES['DEADLOCK']),
            (['run', '--spin', 'codes:spin', 'true'], {}, CODES['UNSUPPORTED']),
            (['top', '--replay', '/nowhere'], {}, CODES['FILE']),
            (['status'], url, CODES['CONFIG']),
            (['doctor'], url, CODES['CONFIG']),
            (['doctor', '-u', 'unix:///nowhere', '--connect-timeout', '300ms'], {},
             CODES['UNREACHABLE'])):
        equal(dibs(*words, env=env).code, code, words)


tests(dict(globals()))
