#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each lock by hand in examples/pitfalls breaks, dibs holds, and the guide shows just that.

    pitfalls.py ROOT PROGRAM

Speaks TAP.
"""
import os
import re
import subprocess
import sys

# How a lost hold is told depends on what its client has heard by then.
LOST = re.compile(r'DIBS_(LOST|EXPIRED|TAKEN)\b')


def run(program, *words):
    environment = {name: value for name, value in os.environ.items()
                   if name not in ('DIBS_URL', 'VALKEY_URL', 'REDIS_URL')}
    return subprocess.run([program, *words], text=True, capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=60, env=environment)


def check(program, word, title, page):
    """What is wrong, or ''."""
    done = run(program, word)
    if done.returncode != 0:
        return f'exit {done.returncode}\n{done.stdout}{done.stderr}'
    head, by_hand, by_dibs = re.split(r'\n\n by hand:\n|\n\n dibs:\n', done.stdout)
    if head != title:
        return f'it calls itself {head!r}'
    if 'BROKEN: ' not in by_hand:
        return f'by hand nothing breaks:\n{done.stdout}'
    if 'BROKEN: ' in by_dibs or not by_dibs.endswith('  ----  holds\n\n'):
        return f'dibs does not hold:\n{done.stdout}'
    if LOST.sub('DIBS_LOST', done.stdout.strip()) not in page:
        return f'the guide shows something else:\n{done.stdout}'
    return ''


def main():
    root, program = sys.argv[1], os.path.abspath(sys.argv[2])
    with open(os.path.join(root, 'doc/guide/why-not-set-nx.md'), encoding='utf-8') as file:
        page = LOST.sub('DIBS_LOST', file.read())
    listed = [line.split(None, 1) for line in run(program, '--list').stdout.splitlines()]
    failures = len(listed) < 6
    print(f'1..{len(listed) + 1}')
    for number, (word, title) in enumerate(listed, 1):
        fault = check(program, word, title, page)
        failures += bool(fault)
        print(f"{'not ok' if fault else 'ok'} {number} - {word}")
        for line in fault.splitlines():
            print(f'# {line}')
    print(f"{'ok' if len(listed) >= 6 else 'not ok'} {len(listed) + 1} - all are listed")
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
