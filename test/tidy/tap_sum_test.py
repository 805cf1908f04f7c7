#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What ./check counts: tap_sum.py on logs with every way to fail. Speaks TAP.

    tap_sum_test.py TAP_SUM
"""
import json
import os
import subprocess
import sys
import tempfile


def log(result='OK', stdout='', code=0):
    return {'name': 'p', 'result': result, 'returncode': code, 'stdout': stdout}


CASES = [
    ('all_passed', [log(stdout='1..2\nok 1 - a\nok 2 - b\n')], '2 0', 0),
    ('a_failed_case_counts_as_one',
     [log('FAIL', '1..2\nok 1 - a\nnot ok 2 - b\n# not ok - tests\n', 1)], '1 1', 1),
    ('a_crash_after_passed_cases_is_a_failure',
     [log('ERROR', '1..3\nok 1 - a\n', -11)], '1 1', 1),
    ('a_program_that_ends_early_with_0_is_a_failure',
     [log(stdout='1..3\nok 1 - a\nok 2 - b\n')], '2 1', 1),
    ('a_timeout_is_a_failure', [log('TIMEOUT', '', None)], '0 1', 1),
    ('a_program_without_tap_is_one_case', [log(), log('FAIL', code=1)], '1 1', 1),
    ('a_skipped_case_is_neither', [log(stdout='1..2\nok 1 - a\nok 2 # SKIP no server\n')],
     '1 0', 0),
    ('a_skip_as_old_cmocka_says_it_is_neither_too',
     [log('FAIL', stdout='1..2\nok 1 - a\nnot ok 2 # SKIP b\n')], '1 0', 0),
    ('no_test_at_all_is_a_failure', [], '0 1', 1),
]


def run(tap_sum, tests):
    with tempfile.TemporaryDirectory() as place:
        with open(os.path.join(place, 'testlog.json'), 'w', encoding='utf-8') as file:
            file.writelines(json.dumps(test) + '\n' for test in tests)
        sums = os.path.join(place, 'sums')
        code = subprocess.run([sys.executable, tap_sum, place, sums],
                              stdout=subprocess.DEVNULL).returncode
        with open(sums, encoding='utf-8') as file:
            return file.read().strip(), code


def main():
    failures = 0
    print(f'1..{len(CASES)}')
    for number, (name, tests, sums, code) in enumerate(CASES, 1):
        got = run(sys.argv[1], tests)
        good = got == (sums, code)
        failures += not good
        print(f"{'ok' if good else 'not ok'} {number} - {name}")
        if not good:
            print(f'# got {got}, wanted {(sums, code)}')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
