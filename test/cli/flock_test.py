#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dibs flock beside flock(1) of this machine: one table of command lines, each run by both, with
the same exit codes, or codes that the manual gives a reason for."""
import itertools
import os
import shutil
import subprocess
import tempfile

from harness import *  # noqa
import harness

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FLOCK = shutil.which('flock')

# NAME: a name, or a file. With single quotes for the shell.
SAME = [
    'NAME true', 'NAME false', "NAME sh -c 'exit 42'", "NAME -c 'exit 3'",
    "NAME --command 'exit 4'", '-s NAME true', '-x NAME true', '-e NAME false', '-n NAME true',
    '--nb NAME true', '-xn NAME true',
    '--shared NAME true', '--exclusive NAME true', '--nonblock NAME true', '-w 5 NAME true',
    '-w 5.5 NAME true', '--wait 5 NAME false', '--timeout 5 NAME true', '-E 7 NAME true',
    '--conflict-exit-code 7 NAME false', '-o NAME true', '--close NAME true', '-F NAME true',
    '--no-fork NAME true', '--verbose NAME true',
    'NAME printf %s -n', 'NAME sh -c \'test "$1" = -x\' sh -x',
    # Wrong.
    '', 'NAME', '-n', '-Z NAME true', '--nonsense NAME true', '-w x NAME true', '-w',
    '-E 300 NAME true',
    '-E x NAME true', '-E', 'NAME -c', 'NAME -c true more',
    # Signals that end the command.
    "NAME sh -c 'kill -TERM $$'", "NAME sh -c 'kill -KILL $$'", "NAME sh -c 'kill -INT $$'",
    "NAME sh -c 'kill -USR1 $$'", "NAME sh -c 'trap \"exit 9\" TERM; kill -TERM $$'",
]

# (words, code of dibs flock, code of flock): dibs-flock(1) has the reasons.
OTHER = [
    ('NAME no-such-command', 127, 69),
    ('NAME /etc/passwd', 126, 69),
    ('NAME -w 1 true', 127, 69),             # -w is a command that does not exist, to both
    ('NAME -- true', 0, 69),
    ('9', 64, 65),
    ('-u 9', 64, 65),
    ('-u NAME true', 64, 0),
    ('--unlock NAME true', 64, 0),
    ('-w -1 NAME true', 64, 71),
    ("-c 'exit 3' NAME", 3, 64),
    ('-v NAME true', 0, 64),
]

# How the name is held by another process, None: not.
CONFLICTS = [(how, words) for how in ('-s', '-x') for words in (
    '-n NAME true', '-w 0 NAME true', '-w LIMIT NAME true', '-n -E 9 NAME true',
    '-n -E 0 NAME true',
    '-sn NAME true', '-s -w 0 NAME false', "-n NAME -c 'exit 3'", '-n NAME no-such-command')]
# A command that does not exist is found out by both only once they have the lock.

CLOSED = [' '.join('%d%s&-' % (n, '<' if n == 0 else '>') for n in closed)
          for count in (1, 2, 3) for closed in itertools.combinations((0, 1, 2), count)]


def _code(program, words, name, more=''):
    """A shell says 128 + N of a program that a signal ended, as both do of their command."""
    limits = ('1', '4', '16') if 'LIMIT' in words else ('',)
    for limit in limits:
        text = words.replace('NAME', name).replace('LIMIT', limit)
        done = subprocess.run(['sh', '-c', '%s %s %s; exit $?' % (program, text, more)],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              env=environment(), timeout=harness.PATIENCE)
        if done.returncode != 69 or program == FLOCK:
            break
    return done.returncode


def _codes(words, name, more=''):
    path = os.path.join(_place, name)
    ours = _code("'%s' flock" % DIBS, words, name, more)
    return ours, _code(FLOCK, words, path, more)


_place = tempfile.mkdtemp(prefix='dibs-cli-test-')


def _expect(table):
    wrong = ['%s: dibs flock %d, flock %d' % row for row in table]
    equal(wrong, [], '\n'.join(wrong))


def it_exits_as_flock_does():
    seen = [(words, *_codes(words, 'free')) for words in SAME]
    _expect([row for row in seen if row[1] != row[2]])


def where_it_exits_otherwise_the_manual_says_why():
    seen = [(words, *_codes(words, 'free')) for words, _, _ in OTHER]
    _expect([row for row, wanted in zip(seen, OTHER) if row != wanted])
    manual = read(os.path.join(ROOT, 'doc/man/dibs-flock.1.scd'))
    for code in ('127', '126', '64', '65', '69'):
        contains(manual, code)


def a_conflict_has_the_code_of_flock():
    for how in ('-s', '-x'):
        name, path = 'taken' + how, os.path.join(_place, 'taken' + how)
        process = start('flock', how, name, 'cat', stdin=subprocess.PIPE)
        until_held(name)
        file_holder = subprocess.Popen([FLOCK, how, path, 'cat'], stdin=subprocess.PIPE)
        until(lambda: subprocess.run([FLOCK, '-n', path, 'true']).returncode == 1, 'it is held')
        seen = [(words, *_codes(words, name)) for held, words in CONFLICTS if held == how]
        end_holder(process)
        file_holder.stdin.close()
        file_holder.wait()
        _expect([row for row in seen if row[1] != row[2]])
        equal({row[1] for row in seen} - {0, 1, 3, 9, 127, 69}, set())


def closed_descriptors_change_nothing():
    seen = [(more, *_codes('-n NAME true', 'closed', more)) for more in CLOSED]
    _expect([row for row in seen if row[1:] != (0, 0)])


def it_is_the_read_write_lock_of_dibs_run():
    process = holder('shared', '-s')
    equal(dibs('flock', '-sn', 'shared', 'true').code, 0)
    equal(dibs('flock', '-n', 'shared', 'true').code, 1)
    end_holder(process)
    process = holder('shared', '--write')
    equal(dibs('flock', '-sn', 'shared', 'true').code, 1)
    end_holder(process)


def what_cannot_be_says_what_to_do():
    for words, hint in (('9', 'dibs acquire'), ('-u 9', 'dibs release'),
                        ('--unlock x true', 'dibs acquire')):
        done = dibs('flock', *words.split())
        equal(done.code, 64)
        contains(done.err, hint)


try:
    tests(dict(globals()))
finally:
    shutil.rmtree(_place, ignore_errors=True)
