#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""That bench_handoff ends when one of its processes cannot start, and names it. Speaks TAP.

    handoff_test.py BENCH_HANDOFF
"""
import os
import re
import subprocess
import sys

# The server has no password, so each process of waiters is refused. The limit is for a program
# that waits without end.
ENVIRONMENT = dict(os.environ, DIBS_PASSWORD='wrong')
WITHOUT_END = 40

STYLES = {'0': 'event loops', '3': 'threads', '6': 'callback thread'}


def ended(number, style):
    try:
        done = subprocess.run([sys.argv[1], '--smoke', number], env=ENVIRONMENT, text=True,
                              capture_output=True, timeout=WITHOUT_END, check=False)
    except subprocess.TimeoutExpired:
        return 'it waits without end'
    wanted = (rf'^bench: process \d+ of \d+ \({style}\) ended before all were ready, '
              r'with exit code 1$')
    is_named = re.search(wanted, done.stderr, re.M) is not None
    return None if done.returncode == 1 and is_named else f'{done.returncode}: {done.stderr}'


print(f'1..{len(STYLES)}')
failures = 0
for at, (plan, words) in enumerate(STYLES.items(), 1):
    fault = ended(plan, words)
    failures += fault is not None
    print(f"{'ok' if fault is None else 'not ok'} {at} - "
          f"a_process_that_cannot_start_is_named ({words})", flush=True)
    if fault is not None:
        print('# ' + fault.replace('\n', '\n# '), flush=True)
sys.exit(1 if failures else 0)
