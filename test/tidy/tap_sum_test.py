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


def log(result='OK', stdout='', code=0, name='p'):
    return {'name': name, 'result': result, 'returncode': code, 'stdout': stdout}


def failed(name, words='', code=1):
    return log('FAIL', f'1..2\nok 1 - a\nnot ok 2 - b\n{words}\n', code, name)


def ended_in_the_middle(name, code, words=''):
    return log('ERROR', f'1..3\nok 1 - a\n{words}', code, name)


BROKEN = 86


CASES = [
    ('all_passed', [log(stdout='1..2\nok 1 - a\nok 2 - b\n')], '2 0 0', 0),
    ('a_failed_case_counts_as_one',
     [log('FAIL', '1..2\nok 1 - a\nnot ok 2 - b\n# not ok - tests\n', 1)], '1 1 0', 1),
    ('a_crash_after_passed_cases_is_a_failure',
     [log('ERROR', '1..3\nok 1 - a\n', -11)], '1 1 0', 1),
    ('a_program_that_ends_early_with_0_is_a_failure',
     [log(stdout='1..3\nok 1 - a\nok 2 - b\n')], '2 1 0', 1),
    ('a_timeout_is_a_failure', [log('TIMEOUT', '', None)], '0 1 0', 1),
    ('a_program_without_tap_is_one_case', [log(), log('FAIL', code=1)], '1 1 0', 1),
    ('a_skipped_case_is_neither', [log(stdout='1..2\nok 1 - a\nok 2 # SKIP no server\n')],
     '1 0 1', 0),
    ('a_skip_as_old_cmocka_says_it_is_neither_too',
     [log('FAIL', stdout='1..2\nok 1 - a\nnot ok 2 # SKIP b\n')], '1 0 1', 0),
    ('no_test_at_all_is_a_failure', [], '0 1 0', 1),
]

# In the gate.
NO_SKIPS = [
    ('a_skipped_case_of_the_gate_is_a_failure',
     [log(stdout='1..2\nok 1 - a\nok 2 # SKIP no server\n'), log('SKIP', '1..0 # SKIP no spin\n')],
     '1 2 0', 1),
]

# The runner was to run three programs.
OF_THREE = [
    ('a_program_that_did_not_run_is_a_failure', [log(), log('FAIL', code=1)], '1 2 0', 1),
    ('all_programs_ran', [log(), log(), log()], '3 0 0', 0),
]

# What goes again: tests, sums, exit code, names.
AGAIN = [
    ('what_waits_for_others_goes_again_and_does_not_count',
     [log(name='dibs:live / a'), failed('dibs:live / b', '# ../x.c:3: error: Failure!')],
     '1 0 0', 0, ['b']),
    ('what_reads_no_clock_does_not_go_again',
     [failed('dibs:unit / a'), failed('dibs:sim / b')], '2 2 0', 1, []),
    ('a_broken_promise_does_not_go_again_in_any_suite',
     [ended_in_the_middle(f'dibs:{suite} / a', BROKEN) for suite in (
         'live', 'deployments', 'cli', 'cpp', 'http', 'fault', 'fault_dialects', 'peers')],
     '8 8 0', 1, []),
    ('a_broken_promise_beside_named_failures_does_not_go_again',
     [failed('dibs:fault / a', code=BROKEN)], '1 1 0', 1, []),
    ('a_program_that_ends_with_86_after_all_its_cases_is_a_failure',
     [log('ERROR', '1..1\nok 1 - a\n', BROKEN, 'dibs:live / a'),
      log('OK', '1..1\nok 1 - a\n', BROKEN, 'dibs:live / b')], '2 2 0', 1, []),
    ('what_words_a_late_program_uses_does_not_matter',
     [failed('dibs:live / a', '# locks: two are inside together, told twice'),
      failed('dibs:fault / b', '# C3 fence order  looked at  227, found 2'),
      failed('dibs:peers / c', 'ERROR: 2 of them came too early, the first 9 ns before'),
      ended_in_the_middle('dibs:live / d', 87, '# BROKEN PROMISE: says a friend')],
     '0 0 0', 0, ['a', 'b', 'c', 'd']),
    ('what_a_sanitizer_found_does_not_go_again',
     [ended_in_the_middle('dibs:live / a', BROKEN, '# ==1==ERROR: AddressSanitizer')], '1 1 0', 1,
     []),
    ('a_program_that_ended_badly_goes_again',
     [log('TIMEOUT', '', None, 'dibs:deployments / a')], '0 0 0', 0, ['a']),
]


def run_again(tap_sum, tests):
    with tempfile.TemporaryDirectory() as place:
        names = os.path.join(place, 'again')
        sums, code = run(tap_sum, tests, names)
        with open(names, encoding='utf-8') as file:
            return sums, code, file.read().split()


def run_no_skips(tap_sum, tests):
    return run(tap_sum, tests, '--no-skips')


def run_of_three(tap_sum, tests):
    return run(tap_sum, tests, '--programs', '3')


def run(tap_sum, tests, *more):
    with tempfile.TemporaryDirectory() as place:
        with open(os.path.join(place, 'check.json'), 'w', encoding='utf-8') as file:
            file.writelines(json.dumps(test) + '\n' for test in tests)
        sums, times = os.path.join(place, 'sums'), os.path.join(place, 'times')
        code = subprocess.run([sys.executable, tap_sum, '--times', times,
                               os.path.join(place, 'check'), sums, *more],
                              stdout=subprocess.DEVNULL).returncode
        with open(times, encoding='utf-8') as file:
            if [line.split('\t')[3] for line in file] != [
                    test['name'].split(' / ')[-1] for test in tests]:
                code = 'not each program has its time'
        with open(sums, encoding='utf-8') as file:
            return file.read().strip(), code


def main():
    failures = 0
    todo = [(run, case) for case in CASES] + [(run_no_skips, case) for case in NO_SKIPS]
    todo += [(run_of_three, case) for case in OF_THREE]
    todo += [(run_again, case) for case in AGAIN]
    print(f'1..{len(todo)}')
    for number, (how, (name, tests, *wanted)) in enumerate(todo, 1):
        got = list(how(sys.argv[1], tests))
        failures += got != wanted
        print(f"{'ok' if got == wanted else 'not ok'} {number} - {name}")
        if got != wanted:
            print(f'# got {got}, wanted {wanted}')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
