#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts the test cases of one `meson test` run and shows those that failed.

    tap_sum.py [--no-skips] [--times FILE] [--programs N] LOG SUMS_FILE [AGAIN_FILE]

Reads LOG*.json. Appends "PASSED FAILED SKIPPED" to SUMS_FILE, and to the FILE of --times how long
each program took, for tools/slow. A program that speaks TAP counts case by case; one that ends
badly without naming a failed case, or before all the cases it announced, counts as one more
failure; any other program counts as one case. With --no-skips, of the gate, a skipped case is a
failed one. With --programs, a log of fewer programs is one more failure: the runner ended before
it had run them all. Exits 1 when something failed or nothing ran.

With AGAIN_FILE: programs that failed, and whose failure may be that of a machine with other
things to do, are shown, but not counted; their names are written there, for a run alone. Not
those that read no clock, and never a broken promise, nor what a sanitizer found: a program that
sees one ends with 86, whatever it says.
"""
import argparse
import glob
import json
import os
import re
import sys

CASE = re.compile(r'^(not )?ok\b\s*\d*\s*-?\s*(.*)$')
PLAN = re.compile(r'^1\.\.(\d+)')
GOOD = {'OK', 'EXPECTEDFAIL', 'SKIP'}
TAIL_LINES = 40
# Suites whose programs wait for servers and other processes, and give up some time.
TIMED = {'live', 'deployments', 'cli', 'cpp', 'http', 'fault', 'fault_dialects', 'peers'}
# What no busy machine is an excuse for: test/lib/promise.h. Sanitizers end so, too.
PROMISE_BROKEN_EXIT = 86


def has_broken(test):
    return test.get('returncode') == PROMISE_BROKEN_EXIT


def count(test, no_skips=False):
    """Returns (passed, failed names, skipped) of one test program."""
    passed, failed, skipped, planned = 0, [], 0, None
    skips = []
    for line in (test.get('stdout') or '').splitlines():
        plan = PLAN.match(line)
        if plan:
            planned = (planned or 0) + int(plan.group(1))
        case = CASE.match(line)
        if not case:
            continue
        name = case.group(2).strip()
        if '# SKIP' in line.upper():
            skipped += 1
            skips.append(f'skipped: {name}')
        elif case.group(1):
            if '# TODO' not in line.upper():
                failed.append(name)
        else:
            passed += 1
    seen = passed + len(failed) + skipped
    # Older cmocka says "not ok 5 # SKIP", which meson takes for a failure.
    only_skipped = skipped > 0 and test.get('returncode') == 0 and seen == planned
    if test['result'] not in GOOD and not failed and not only_skipped:
        failed.append(f"(the program: {test['result']}, exit {test.get('returncode')})")
    elif seen == 0 and not planned:
        if test['result'] == 'SKIP':
            skipped = 1
            skips.append('skipped: all of it')
        else:
            passed = 1
    elif planned is not None and seen < planned:
        failed.append(f'(ended after {seen} of {planned} cases)')
    if has_broken(test) and not failed:
        failed.append(f'(exit {PROMISE_BROKEN_EXIT})')
    if no_skips:
        return passed, failed + skips, 0
    return passed, failed, skipped


def words_of(test):
    """What matters most is at the end: which promise, on standard output."""
    out, err = test.get('stdout') or '', test.get('stderr') or ''
    return err + out if has_broken(test) else out + err


def may_go_again(test):
    suites = test['name'].split(' / ')[0].split(':')[-1].split('+')
    return TIMED.issuperset(suites) and not has_broken(test)


def show(test, failed, how):
    print(f"{how} {test['name']}: " + ', '.join(failed))
    lines = [line for line in words_of(test).splitlines() if not line.startswith('ok ')]
    for line in lines[-TAIL_LINES:]:
        print('    ' + line)


def note_time(file, log, test):
    """SECONDS, build directory, suites, name, result: tools/slow reads it."""
    suites, _, name = test['name'].rpartition(' / ')
    file.write('\t'.join([f"{test.get('duration', 0):.2f}", log.split('/meson-logs/')[0],
                          suites.split(':')[-1], name, test['result']]) + '\n')


def options_read():
    parser = argparse.ArgumentParser()
    parser.add_argument('--no-skips', action='store_true')
    parser.add_argument('--times', default=os.devnull)
    parser.add_argument('--programs', type=int, default=0)
    parser.add_argument('log')
    parser.add_argument('sums')
    parser.add_argument('again', nargs='?')
    return parser.parse_args()


def main():
    options = options_read()
    sums_file, again_file = options.sums, options.again
    passed, failed, skipped, again, programs = 0, 0, 0, [], 0
    for path in sorted(glob.glob(glob.escape(options.log) + '*.json')):
        with open(path, encoding='utf-8', errors='replace') as log, open(
                options.times, 'a', encoding='utf-8') as times:
            for line in log:
                test = json.loads(line)
                programs += 1
                note_time(times, options.log, test)
                one_passed, one_failed, one_skipped = count(test, options.no_skips)
                if one_failed and again_file and may_go_again(test):
                    again.append(test['name'].split(' / ')[-1])
                    show(test, one_failed, 'NOT STEADY')
                    continue
                passed += one_passed
                failed += len(one_failed)
                skipped += one_skipped
                if one_failed:
                    show(test, one_failed, 'BROKEN PROMISE' if has_broken(test) else 'FAILED')
    if programs < options.programs:
        print(f'FAILED: {options.programs - programs} of {options.programs} programs did not run')
        failed += 1
    if passed == 0 and failed == 0 and not again:
        print('FAILED: no test ran')
        failed = 1
    print(f'{passed} cases passed, {failed} failed'
          + (f', {skipped} skipped' if skipped else '') + ' in this run')
    with open(sums_file, 'a', encoding='utf-8') as sums:
        sums.write(f'{passed} {failed} {skipped}\n')
    if again_file:
        with open(again_file, 'w', encoding='utf-8') as names:
            names.writelines(name + '\n' for name in again)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
