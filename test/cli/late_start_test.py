#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dibs run and dibs elect that stand still between the grant and the start of the command, past
the end of the lease: the command does not start beside the next holder."""
import os
import signal

from harness import *  # noqa


def _waits_behind(name, variable, *words):
    """A command that waits for `name`, and that will wait at one more place, while there is a file.
    Returns it, the file and the holder."""
    other, path = holder(name, '-t', '30s'), temporary_file()
    os.unlink(path)
    process = start(*words, env=preloading(os.environ['SLOW_TERMINAL'], **{variable: path}))
    until_waiting(name)
    open(path, 'w').close()
    return process, path, other


def _until_over(process, name):
    process.send_signal(signal.SIGSTOP)
    until(lambda: process_state(process.pid) == 'T', 'it is stopped')
    until(lambda: not is_held(name), 'the lease is over')


def _has_started_nothing(process):
    process.send_signal(signal.SIGCONT)
    done = finish(process)
    equal((done.code, done.out), (79, ''), done)
    return done


def _granted_too_late(*words):
    """Stopped after the grant of `late`, before the start, until the lease is over."""
    process, path, other = _waits_behind('late', 'TIMER_WAITS_WHILE', *words)
    end_holder(other)
    until_waiting('late', 0)
    until_held('late')
    _until_over(process, 'late')
    os.unlink(path)
    return process


def _is_lost_before_the_start(what, *words):
    process = _granted_too_late(*words)
    contains(_has_started_nothing(process).err, 'lost late: %s was not started' % what)


def a_command_does_not_start_after_the_end_of_the_lease():
    for more in ([], ['--on-lost', 'ignore'], ['--foreground']):
        _is_lost_before_the_start('the command', 'run', '-t', '2s', *more, 'late', '--',
                                  'echo', 'started')


def a_leader_does_not_start_its_work_after_the_end_of_the_lease():
    for more in (['--on-lost', 'ignore'], []):
        _is_lost_before_the_start('--on-elected', 'elect', 'run', '-t', '2s', *more, 'late',
                                  '--on-elected', 'echo started', '--', 'echo', 'leads')


def on_deposed_starts_after_the_end_of_the_lease():
    words = 'elect run -t 2s late --on-deposed'.split() + ['echo deposed', '--', 'echo', 'led']
    process = _granted_too_late(*words)
    process.send_signal(signal.SIGCONT)
    done = finish(process)
    equal((done.code, done.out), (79, 'deposed\n'), done)


def _children(pid):
    return [int(word) for word in read('/proc/%d/task/%d/children' % (pid, pid)).split()]


def a_guardian_that_is_late_starts_nothing():
    process, path, other = _waits_behind('late', 'GROUP_WAITS_WHILE', 'run', '-t', '2s', 'late',
                                         '--', 'echo', 'started')
    end_holder(other)
    until(lambda: _children(process.pid), 'the second guardian is there')
    _until_over(process, 'late')
    os.unlink(path)
    contains(_has_started_nothing(process).err, 'lost late: the command was not started')


tests(dict(globals()))
