#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the command writes, and where it cannot write."""
import os
import subprocess
import tempfile

from harness import *  # noqa


# ---- a limit of the file size ----

def _under_limit(line):
    """Runs `line` in a directory of its own in which no file may have a byte."""
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run(['sh', '-c', 'ulimit -f 0; ' + line], env=environment(),
                              cwd=directory, capture_output=True, text=True, timeout=PATIENCE)
    return done.returncode, done.stdout, done.stderr


def a_report_beyond_the_limit_of_the_file_size_is_an_error_and_not_the_end():
    code, out, err = _under_limit('exec "$DIBS" run --status-file f limit -- echo ran')
    equal((code, out), (0, 'ran\n'), err)
    contains(err, 'File too large')


def output_and_messages_beyond_that_limit_are_no_end_either():
    for line, wanted in (('status -a', 70), ('acquire --no-renew limit:a', 70),
                         ('metrics --once', 70), ('metrics --textfile f', 78)):
        code, _, err = _under_limit('exec "$DIBS" %s >out' % line)
        equal(code, wanted, (line, err))
        contains(err, 'cannot write')
    assert not is_held('limit:a')
    equal(_under_limit('exec "$DIBS" run -v limit -- echo ran 2>err')[:2], (0, 'ran\n'))
    equal(_under_limit('exec "$DIBS" sandbox -- echo ran')[:2], (0, 'ran\n'))


def a_command_under_a_lock_has_that_limit_as_its_caller():
    code, _, err = _under_limit('exec "$DIBS" run limit -- dd if=/dev/zero of=f bs=1 count=1')
    equal(code, 128 + 25, err)              # SIGXFSZ


tests(globals())
