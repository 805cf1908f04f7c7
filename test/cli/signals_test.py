#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every signal that ends a process by default comes to the command, or ends the wait for its lock:
images of containers name one of them as STOPSIGNAL. As pid 1: container_test.py."""
import os
import signal
import subprocess
import sys

from harness import *  # noqa

# Beyond INT, TERM, HUP, QUIT, USR1 and USR2 (run_test.py). Not faults, KILL, PIPE and XFSZ.
NUMBERS = [signal.SIGPWR, signal.SIGRTMIN + 3, signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF,
           signal.SIGIO, signal.SIGXCPU, signal.SIGABRT, signal.SIGRTMIN, signal.SIGRTMAX]


def a_signal_that_ends_a_process_comes_to_the_command():
    for number in NUMBERS:
        mark = temporary_file()
        process = start('run', 's:run', '--', 'bash', '-c',
                        'trap "echo got; exit 5" %d; echo up >"$0"; while :; do sleep 0.02; done'
                        % number, mark)
        until_text(mark, 'up')
        process.send_signal(number)
        done = finish(process)
        equal((done.code, done.out), (5, 'got\n'), number)
        os.unlink(mark)
    assert not is_held('s:run')


def a_command_that_dies_of_it_gives_its_code():
    for number in NUMBERS:
        process = start('run', 's:dies', '--', 'sh', '-c', 'ulimit -c 0; echo up; exec sleep 60')
        equal(process.stdout.readline(), 'up\n')
        process.send_signal(number)
        equal(finish(process).code, 128 + number)
    assert not is_held('s:dies')


def a_window_size_from_a_process_comes_to_the_command():
    process = start('run', 's:size', '--', 'bash', '-c',
                    'trap "exit 6" WINCH; echo up; while :; do sleep 0.02; done')
    equal(process.stdout.readline(), 'up\n')
    process.send_signal(signal.SIGWINCH)
    equal(finish(process).code, 6)


def a_signal_that_ends_a_process_ends_a_wait_and_leaves_no_entry():
    other = holder('s:wait')
    for number in NUMBERS:
        waiter = start('run', 's:wait', '--', 'echo', 'ran')
        until_waiting('s:wait')
        waiter.send_signal(signal.SIGWINCH)             # does not
        waiter.send_signal(number)
        done = finish(waiter)
        equal((done.code, done.out), (128 + number, ''), number)
        equal(who('s:wait')['waiter_count'], 0)
    end_holder(other)


def a_signal_that_ends_a_process_ends_a_leader_without_a_command():
    for number in (signal.SIGPWR, signal.SIGRTMIN + 3):
        leader = start('elect', 'run', '-v', 's:lead')
        # Not when the server says so: until it knows of the grant, a signal ends its wait.
        while 'elected' not in (line := leader.stderr.readline()):
            assert line, 'it leads'
        leader.send_signal(number)
        equal(finish(leader).code, 0)


# Set before it executes dibs, as by perl -e 'alarm 10; exec @ARGV'.
def a_stop_comes_to_a_command_in_the_foreground_too():
    # In a group of its own: the kernel stops none whose members have no parent in this session.
    for words in (['run', '--foreground', 's:stop'], ['sandbox']):
        process = start(*words, '--', 'sh', '-c', 'echo $$; exec sleep 60', preexec_fn=os.setpgrp)
        pids = [process.pid, int(process.stdout.readline())]
        for number, wanted in ((signal.SIGTSTP, 'T'), (signal.SIGCONT, 'S')):
            process.send_signal(number)
            for pid in pids:
                until(lambda: process_state(pid) == wanted, '%d is %s' % (pid, wanted))
        process.send_signal(signal.SIGTERM)
        equal(finish(process).code, 143, words)


def a_signal_comes_to_a_command_in_the_foreground_and_not_to_its_children():
    process = start('run', '--foreground', 's:alone', '--', 'sh', '-c',
                    'sleep 60 & echo $$ $!; wait', preexec_fn=os.setpgrp)
    command, child = map(int, process.stdout.readline().split())
    for number, wanted in ((signal.SIGTSTP, 'T'), (signal.SIGCONT, 'S')):
        process.send_signal(number)
        until(lambda: process_state(command) == wanted, 'the command is ' + wanted)
        assert process_state(child) in 'RS', 'the child is not stopped'
    process.send_signal(signal.SIGTERM)
    until(lambda: not is_alive(command), 'the command has ended')
    assert is_alive(child)
    os.kill(child, signal.SIGKILL)
    equal(finish(process).code, 143)


def an_alarm_of_the_caller_ends_the_command():
    for option in ((), ('--foreground',)):
        process = subprocess.Popen(
            [sys.executable, '-c', 'import os, signal, sys; signal.alarm(3); '
             'os.execvp(sys.argv[1], sys.argv[1:])', DIBS, 'run', *option, 's:alarm', '--', 'sleep',
             '611'], env=environment())
        equal(process.wait(PATIENCE), 128 + signal.SIGALRM)
        until(lambda: not is_held('s:alarm'), 'the lock is free')


def a_signal_that_was_ignored_stays_ignored():
    process = subprocess.Popen(['sh', '-c', 'trap "" ALRM; exec "$DIBS" run s:ignored -- sh -c '
                                '"kill -ALRM \\${DIBS_HOLDER##*:} \\$\\$; exit 4"'],
                               env=environment())
    equal(process.wait(PATIENCE), 4)


tests(dict(globals()))
