#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whoever reads the messages and the output of the command may go away: nothing that holds, waits
or runs a command dies of that."""
import os
import signal
import subprocess

from harness import *  # noqa


def _no_reader():
    """The end to write of a pipe without a reader."""
    reading, writing = os.pipe()
    os.close(reading)
    return writing


def _messages_unread(*words, **more):
    """Starts the command with such a pipe as stderr."""
    pipe = _no_reader()
    process = start(*words, stderr=pipe, **more)
    os.close(pipe)
    return process


def _mark_of(*words):
    """Runs `dibs WORDS -- sh -c ...` to its end without a reader; what the command left behind."""
    mark = temporary_file()
    process = _messages_unread(*words, '--', 'sh', '-c', 'echo ran >"$0"', mark)
    done = finish(process)
    return done.code, read(mark)


def a_command_runs_whose_wrapper_has_no_reader():
    equal(_mark_of('run', '-v', 'r:run'), (0, 'ran\n'))
    assert not is_held('r:run')


def a_waiter_goes_on_without_a_reader():
    other = holder('r:wait')
    mark = temporary_file()
    process = _messages_unread('run', '-v', 'r:wait', '--', 'sh', '-c', 'echo ran >"$0"', mark)
    until_waiting('r:wait')
    equal(end_holder(other).code, 0)
    equal(finish(process).code, 0)
    equal(read(mark), 'ran\n')


def a_wait_for_a_name_goes_on_without_a_reader():
    other = holder('r:free')
    process = _messages_unread('wait', '-v', 'r:free')
    equal(end_holder(other).code, 0)
    equal(finish(process).code, 0)


def a_wait_at_a_latch_a_barrier_or_a_limiter_ends_by_itself_without_a_reader():
    for words in (['latch', 'wait'], ['barrier', 'wait', '--parties', '2'], ['rate', 'take'],
                  ['wait'], ['elect', 'run'], ['acquire', '-t', '5s', '--no-renew']):
        process = _messages_unread(*words, '-w', '1s', '-u', 'unix:///nowhere', 'r:none')
        code = finish(process).code
        assert code in (64, 69), (words, code)


def a_sandbox_and_an_election_run_their_command_without_a_reader():
    equal(_mark_of('sandbox'), (0, 'ran\n'))
    mark = temporary_file()
    process = _messages_unread('elect', 'run', '-v', 'r:elect', '--', 'sh', '-c',
                               'echo ran >"$0"; exec cat', mark, stdin=subprocess.PIPE)
    until_text(mark, 'ran')
    process.terminate()
    finish(process)


def no_subcommand_dies_of_its_own_words():
    for line in dibs('--help').out.splitlines():
        if line.startswith('  ') and not line.startswith('  dibs') and line[2] != ' ':
            word = line.split()[0]
            equal(finish(_messages_unread(word, '--no-such-option')).code, 64, word)
    equal(finish(_messages_unread('status', '-u', 'unix:///nowhere')).code, 69)
    equal(finish(_messages_unread('no-such-command')).code, 64)


def a_token_without_a_reader_leaves_no_lock():
    pipe = _no_reader()
    process = start('acquire', '-n', '-t', '5m', '--no-renew', 'r:token', stdout=pipe)
    os.close(pipe)
    done = finish(process)
    assert done.code not in (0, -signal.SIGPIPE), done
    assert not is_held('r:token')


def the_command_gets_sigpipe_as_its_caller_had_it():
    words = ['run', 'r:pipe', '--', 'sh', '-c', 'kill -PIPE $$; exit 3']
    equal(dibs(*words).code, 128 + signal.SIGPIPE)
    equal(dibs(*words, restore_signals=False).code, 3)


def _output_unread(*words):
    pipe = _no_reader()
    process = start(*words, stdout=pipe)
    os.close(pipe)
    done = finish(process)
    return done.code, done.err


def output_that_is_not_read_to_its_end_ends_a_list_in_silence():
    other = holder('r:list')
    for words in (['help', 'run'], ['run', '--help'], ['who', 'r:list'],
                  ['status', '--all'], ['ping'], ['acl'], ['completion', 'bash'],
                  ['metrics', '--once'], ['top', '--once'],
                  ['elect', 'observe', 'r:vacant'], ['elect', 'observe', '-n', 'r:vacant']):
        equal(_output_unread(*words), (-signal.SIGPIPE, ''), words)
    end_holder(other)


def output_that_is_not_read_is_a_failure_of_what_changes_something():
    equal(dibs('latch', 'set', 'r:left', '2').code, 0)
    code, err = _output_unread('latch', 'down', 'r:left')
    equal(code, 70)
    contains(err, 'standard output: Broken pipe')


tests(dict(globals()))
