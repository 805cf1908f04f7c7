#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""That a broken promise (test/lib/promise.h) is told by an exit code, from wherever it is seen,
through tools/tap_skips too, and that tools/tap_sum.py then refuses a second run. Speaks TAP.

    promise_test.py PROMISE_CASES TAP_SKIPS TAP_SUM
"""
import json
import os
import re
import subprocess
import sys
import tempfile

CASES, TAP_SKIPS, TAP_SUM = sys.argv[1:4]
TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
ENVIRONMENT = dict(os.environ, CMOCKA_MESSAGE_OUTPUT='TAP')


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, env=ENVIRONMENT)
    return done.returncode, done.stdout


def told(how, *before):
    code, out = run(*before, CASES, how)
    assert code == 86, (how, code, out)
    lines = [line for line in out.splitlines() if line.startswith('# BROKEN PROMISE: ')]
    assert lines and 'fence 1 after 1' in lines[0], (how, out)
    return out


def a_kept_promise_changes_nothing():
    for before in ((), (TAP_SKIPS,)):
        assert run(*before, CASES, 'kept') == (0, '1..1\nok 1 - the program goes on\n')


def a_broken_one_ends_the_program_with_86_and_cleans_up():
    for how in ('main', 'cmocka', 'thread'):
        out = told(how)
        assert 'cleaned up' in out and 'goes on' not in out, (how, out)


def what_a_child_sees_reaches_its_parent():
    for how in ('child', 'unwaited', 'grandchild', 'exec'):
        told(how)


def tap_skips_ends_as_the_program_did():
    for how in ('main', 'cmocka', 'thread', 'unwaited'):
        told(how, TAP_SKIPS)
    assert run(TAP_SKIPS, 'sh', '-c', 'exit 3')[0] == 3
    assert run(TAP_SKIPS, TAP_SKIPS, 'sh', '-c', 'exit 86')[0] == 86
    assert run(TAP_SKIPS, 'sh', '-c', 'kill -9 $$')[0] == 128 + 9
    assert run(TAP_SKIPS, 'sh', '-c', 'echo not ok 1 \\# SKIP a; echo words') == (
        0, 'ok 1 # SKIP a\n# words\n')


def there_is_no_second_run():
    code, out = run(CASES, 'cmocka')
    with tempfile.TemporaryDirectory() as place:
        log = os.path.join(place, 'log')
        with open(log + '.json', 'w', encoding='utf-8') as file:
            file.write(json.dumps({'name': 'dibs:live / promise', 'result': 'ERROR',
                                   'returncode': code, 'stdout': out}) + '\n')
        ended, said = run(sys.executable, TAP_SUM, log, os.path.join(place, 'sums'),
                          os.path.join(place, 'again'))
        with open(os.path.join(place, 'again'), encoding='utf-8') as file:
            assert file.read() == ''
    assert ended == 1 and said.startswith('BROKEN PROMISE dibs:live / promise: '), said


def everybody_has_the_same_number():
    """Where a header of C cannot be included."""
    for path, pattern, count in (('test/lib/promise.h', r'PROMISE_BROKEN_EXIT = (\d+)', 1),
                                 ('test/cli/harness.py', r'PROMISE_BROKEN_EXIT = (\d+)', 1),
                                 ('test/http/flash_http.py', r'PROMISE_BROKEN_EXIT = (\d+)', 1),
                                 ('tools/tap_sum.py', r'PROMISE_BROKEN_EXIT = (\d+)', 1),
                                 ('test/live/meson.build', r'--error-exitcode=(\d+)', 1),
                                 ('check', r'exitcode=(\d+)', 4)):
        with open(os.path.join(TOP, path), encoding='utf-8') as file:
            assert re.findall(pattern, file.read()) == ['86'] * count, path


TESTS = [a_kept_promise_changes_nothing, a_broken_one_ends_the_program_with_86_and_cleans_up,
         what_a_child_sees_reaches_its_parent, tap_skips_ends_as_the_program_did,
         there_is_no_second_run, everybody_has_the_same_number]


def main():
    failures = 0
    print(f'1..{len(TESTS)}')
    for number, test in enumerate(TESTS, 1):
        try:
            test()
            print(f'ok {number} - {test.__name__}')
        except AssertionError as fault:
            failures += 1
            print(f'not ok {number} - {test.__name__}')
            print('# ' + repr(fault))
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
