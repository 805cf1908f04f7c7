#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How `dibs run` ends with each of its options (the table of hazards_test.py): when the guardian
is killed, and by a signal while none of its messages can be written."""
import os
import shutil
import signal
import subprocess

from harness import *  # noqa
import harness
import hazards_test
from hazards_test import _Words, _each, _inside, _prepare

# What it leaves behind is in a session of its own: only a guardian finds it.
DAEMON = ('trap "exit 5" TERM; echo guardian $PPID >>"$0"; '
          'setsid sh -c \'echo pid $$ >>"$0"; exec sleep 600\' "$0" & wait')


def _is_ready(guardian):
    """It has said that it has started the command, and waits for orders."""
    return read('/proc/%d/comm' % guardian) == 'lease-guardian\n' and process_state(guardian) == 'S'


def _loses_its_guardian(option):
    words, path = _Words(option, harness.server), temporary_file()
    wrapper = start('run', *words.holds(), '--', 'sh', '-c', DAEMON, path, env=words.env)
    found = _inside(path)
    guardian = int(found['guardian'])
    until(lambda: _is_ready(guardian), 'the guardian waits')
    os.kill(guardian, signal.SIGKILL)
    equal(finish(wrapper).code, 137, option)
    promise_kept(not is_alive(int(found['pid'])), option, 'it works on when the lock is released')
    equal(dibs('run', *words.tries(), '--', 'true', env=words.env).code, 0, option)


def _ends_by_a_signal_with_its_messages_blocked(option):
    words, path = _Words(option, harness.server), temporary_file()
    reading, writing = os.pipe()
    fill_pipe(writing)
    wrapper = start('run', *words.holds(), '--', 'sh', '-c', DAEMON, path, env=words.env,
                    stdout=subprocess.DEVNULL, stderr=writing)
    found = _inside(path)
    wrapper.terminate()
    equal(wrapper.wait(PATIENCE), 5, option)
    os.kill(int(found['pid']), signal.SIGKILL)     # left alone when a command comes to its own end
    equal(dibs('run', *words.tries(), '--', 'true', env=words.env).code, 0, option)
    for fd in (reading, writing):
        os.close(fd)


def no_option_leaves_a_daemon_behind_when_the_guardian_is_killed():
    _prepare(harness.server)
    _each(_loses_its_guardian)


def no_option_keeps_a_signal_from_the_command_while_no_message_can_be_written():
    _prepare(harness.server)
    _each(_ends_by_a_signal_with_its_messages_blocked)


def a_waiter_ends_by_a_signal_while_no_message_can_be_written():
    other = holder('mute')
    for words in ([], ['-v'], ['--json'], ['--progress', 'plain'], ['-q']):
        reading, writing = os.pipe()
        fill_pipe(writing)
        waiter = start('run', *words, 'mute', '--', 'true', stderr=writing)
        until_waiting('mute')
        waiter.terminate()
        equal(waiter.wait(PATIENCE), 143, words)
        until_waiting('mute', 0)
        for fd in (reading, writing):
            os.close(fd)
    end_holder(other)


try:
    tests(dict(globals()))
finally:
    shutil.rmtree(hazards_test.directory, ignore_errors=True)
