#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tools/wire-diff on a build and itself, and on a copy whose commands differ. Speaks TAP.

    wire_diff_test.py WIRE_DIFF BUILD
"""
import os
import pathlib
import subprocess
import sys
import tempfile

WIRE_DIFF, BUILD = sys.argv[1], pathlib.Path(sys.argv[2])
PROGRAMS = 'sim/explore/dibs-explore', 'sim/deployed/dibs-explore-deployments'


def diff(*arguments):
    done = subprocess.run([sys.executable, WIRE_DIFF, *map(str, arguments)], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.returncode, done.stdout


def changed_build(folder, program, kind, seed, change):
    """A build whose `program` says something else, in one kind of worlds and one seed."""
    for name in PROGRAMS:
        script = folder / name
        script.parent.mkdir(parents=True)
        edit = f"""case "$*" in "--kind {kind} --seed {seed} "*)
  '{BUILD / name}' "$@" | sed '{change}'; exit 0 ;;
esac
""" if name == program else ''
        script.write_text(f"#!/bin/sh\n{edit}exec '{BUILD / name}' \"$@\"\n")
        os.chmod(script, 0o755)
    return folder


def a_build_does_not_differ_from_itself(_):
    status, output = diff(BUILD, BUILD, 2)
    return status == 0 and output.endswith('kinds: no difference\n')


def finds(place, program, kind, seed, change, old, new):
    """The difference is reported with kind, seed and both lines; and it is the only one."""
    status, output = diff(BUILD, changed_build(place, program, kind, seed, change), 2,
                          '--kind', 'mutex', '--kind', kind)
    lines = output.splitlines()
    at = next((i for i, line in enumerate(lines) if line.startswith('old ')), 0)
    return status == 1 and f'--kind {kind} --seed {seed} --trace: line ' in lines[0] and \
        old in lines[at] and new in lines[at + 1] and \
        lines[-1].endswith(': different in 1 kinds')


def another_argument_of_one_command_is_found(place):
    return finds(place, PROGRAMS[0], 'redisson', 2, '/EVALSHA redisson.acquire/s/ 1 / 2 /',
                 ' 1 ', ' 2 ')


def another_reply_in_a_deployment_is_found(place):
    return finds(place, PROGRAMS[1], 'quorum', 1, 's/+OK/+KO/', '+OK', '+KO')


def a_build_without_the_programs_is_no_comparison(place):
    status, output = diff(BUILD, place, 1)
    return status == 2 and 'not built' in output


def a_name_that_is_no_revision_is_no_comparison(_):
    return diff(BUILD, 'no-such-revision', 1)[0] == 2


TESTS = [a_build_does_not_differ_from_itself, another_argument_of_one_command_is_found,
         another_reply_in_a_deployment_is_found, a_build_without_the_programs_is_no_comparison,
         a_name_that_is_no_revision_is_no_comparison]


def main():
    failures = 0
    print(f'1..{len(TESTS)}')
    for number, test in enumerate(TESTS, 1):
        with tempfile.TemporaryDirectory() as place:
            is_good = test(pathlib.Path(place))
        failures += not is_good
        print(f"{'ok' if is_good else 'not ok'} {number} - {test.__name__}")
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
