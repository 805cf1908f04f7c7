#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dibs run: exit codes, environment, waiting, reports."""
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time

from harness import *  # noqa
import harness


# ---- exit codes ----

def the_childs_exit_code_is_passed_on():
    for code in (0, 1, 42, 255):
        equal(dibs('run', 'codes', '--', 'sh', '-c', 'exit %d' % code).code, code)


def a_child_killed_by_a_signal_gives_128_plus_its_number():
    equal(dibs('run', 'codes', 'sh', '-c', 'kill -KILL $$').code, 137)
    equal(dibs('run', 'codes', 'sh', '-c', 'kill -TERM $$').code, 143)


def a_missing_program_gives_127_and_leaves_the_lock_free():
    done = dibs('run', 'codes', '--', 'no-such-program-here')
    equal(done.code, 127, done)
    contains(done.err, 'no-such-program-here')
    assert not is_held('codes')


def a_file_that_is_no_program_gives_126():
    equal(dibs('run', 'codes', '--', '/etc/passwd').code, 126)


def a_busy_lock_gives_75_at_once_with_n():
    other = holder('busy')
    done = dibs('run', '-n', 'busy', '--', 'true')
    refused(done.code, 75, done)
    assert done.seconds < 1.5, done
    contains(done.err, 'busy is busy: held by')
    end_holder(other)


def a_lease_that_is_over_but_in_doubt_is_busy_and_the_message_says_so():
    """Its last writer doubted the clock (flag 2): only a client that has watched it takes it."""
    lease = 'AAAAAAAAAAAAAAAAAAAAAA:1:%d 1000 1000 0 2' % ((time.time() - 20) * 1e6)
    contains(harness.server.ask('SET', 'dibs:m:{doubtful}', lease), '+OK')
    done = dibs('run', '-n', 'doubtful', '--', 'true')
    equal(done.code, 75, done)
    contains(done.err, 'clocks disagree: a wait of 2.0s takes it')
    contains(dibs('who', 'doubtful').out, 'clocks disagree: a wait of 2.0s takes it')
    ends = harness.server.ask('PEXPIRE', 'dibs:m:{doubtful}', '600000')
    contains(ends, ':1')
    equal(dibs('run', '-w', '300ms', 'doubtful', '--', 'true').code, 75)
    left = int(harness.server.ask('PTTL', 'dibs:m:{doubtful}').strip(':\r\n'))
    assert 0 < left <= 600000, 'a wait has prolonged it to %d' % left
    done = dibs('run', '-w', '20s', 'doubtful', '--', 'true')
    equal(done.code, 0, done)


def a_timeout_gives_75_in_time():
    other = holder('slow')
    done = dibs('run', '-w', '1s', 'slow', '--', 'true')
    refused(done.code, 75, done)
    assert 1.0 <= done.seconds < 2.6, done
    equal(who('slow')['waiter_count'], 0)
    end_holder(other)


def option_E_changes_the_code_for_busy_and_for_timeout():
    other = holder('busy')
    refused(dibs('run', '-n', '-E', '9', 'busy', '--', 'true').code, 9)
    refused(dibs('run', '-w', '1', '-E', '9', 'busy', '--', 'true').code, 9)
    refused(dibs('run', '-w', '0', 'busy', '--', 'true').code, 75)
    end_holder(other)


def skip_ok_makes_busy_a_success_and_says_nothing():
    other = holder('busy')
    done = dibs('run', '-n', '--skip-ok', 'busy', '--', 'true')
    equal((done.code, done.err), (0, ''))
    end_holder(other)


def an_unreachable_server_gives_69_within_the_connect_timeout():
    done = dibs('run', '-u', 'unix:///nowhere/socket', '--connect-timeout', '300ms', 'x',
                'true')
    equal(done.code, 69, done)
    assert done.seconds < 3, done


def a_bad_url_gives_78_and_never_shows_the_password():
    done = dibs('run', 'x', 'true', env={'DIBS_URL': 'redsi://user:geheim@host'})
    equal(done.code, 78, done)
    lacks(done.err, 'geheim')


def a_key_of_another_kind_gives_65_and_stays_as_it_is():
    harness.server.ask('LPUSH', 'dibs:m:{wrong}', 'a')
    done = dibs('run', 'wrong', '--', 'true')
    equal(done.code, 65, done)
    contains(harness.server.ask('TYPE', 'dibs:m:{wrong}'), 'list')


# ---- the command line of the child ----

def options_of_the_child_are_never_eaten():
    equal(dibs('run', 'words', '--', 'echo', '-n', '--', '-w', '5').out, '-- -w 5')
    equal(dibs('run', 'words', 'echo', '-v').out, '-v\n')


def c_runs_shell_text_before_and_after_the_name():
    env = {'SHELL': '/bin/sh'}
    equal(dibs('run', '-c', 'echo $DIBS_NAME', 'shell', env=env).out, 'shell\n')
    equal(dibs('run', 'shell', '-c', 'echo $DIBS_NAME', env=env).out, 'shell\n')


def stdin_and_stdout_are_untouched():
    equal(dibs('run', 'pipe', 'cat', stdin='through').out, 'through')


def descriptors_of_the_caller_reach_the_command_and_ours_do_not():
    inside = dibs('run', 'fds', '--', 'ls', '/proc/self/fd')
    equal(inside.out.split(), ['0', '1', '2', '3'])     # 3: the directory itself
    reader, writer = os.pipe()
    dibs('run', 'fds', '--', 'sh', '-c', 'echo kept >&%d' % writer, pass_fds=[writer])
    equal(os.read(reader, 100), b'kept\n')


def ignored_signals_stay_ignored_and_the_mask_is_as_it_was():
    script = ('trap "" HUP; exec "$DIBS" run mask -- '
              'grep -E "^Sig(Blk|Ign)" /proc/self/status')
    got = subprocess.run(['sh', '-c', script], env=environment(), capture_output=True,
                         text=True).stdout
    wanted = subprocess.run(['sh', '-c', 'trap "" HUP; exec grep -E "^Sig(Blk|Ign)" '
                             '/proc/self/status'], capture_output=True, text=True).stdout
    equal(got, wanted)


# ---- environment ----

def _child_environment(*options, env=None, name='env'):
    done = dibs('run', *options, name, '--', 'env', '-0', env=env)
    equal(done.code, 0, done)
    return dict(e.split('=', 1) for e in done.out.split('\0') if '=' in e)


def the_command_gets_fence_token_and_the_rest():
    env = _child_environment('-t', '20s')
    equal(env['DIBS_NAME'], 'env')
    equal(env['DIBS_TTL_MS'], '20000')
    equal(env['DIBS_URL'], harness.server.url)
    assert int(env['DIBS_FENCE']) > 0
    assert int(env['DIBS_WAITED_MS']) >= 0
    assert env['DIBS_TOKEN'] and ' ' not in env['DIBS_TOKEN']
    assert env['DIBS_HOLDER'].rsplit(':', 1)[1].isdigit()
    assert env['DIBS_HELD'].startswith('env=')


def fences_grow():
    fences = [int(_child_environment()['DIBS_FENCE']) for _ in range(5)]
    harness.promise_kept(fences == sorted(set(fences)), fences)


def trace_context_passes_through():
    parent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    equal(_child_environment(env={'TRACEPARENT': parent})['TRACEPARENT'], parent)


def a_prefix_goes_into_the_inner_url():
    env = _child_environment('--prefix', 'mine')
    equal(env['DIBS_URL'], harness.server.url + '?prefix=mine')


def the_token_can_be_renewed_inside():
    done = dibs('run', 'inner', '--', 'sh', '-c', '"$DIBS" renew -v -t 60s "$DIBS_TOKEN"')
    equal(done.code, 0, done)
    assert 50000 < int(done.out) <= 60000, done


# ---- nested ----

def a_nested_run_on_the_same_name_gives_80_instead_of_waiting():
    for outer, inner in (('nest', 'nest'), ('nest', '{nest}'), ('{nest}', 'nest'),
                         ('ne{st', '{ne{st}'), ('{ne}st}', 'ne}st')):
        done = dibs('run', outer, '--', DIBS, 'run', '-w', '20', inner, '--', 'echo', 'no')
        equal((done.code, done.out), (80, ''), done)
        contains(done.err, 'wait for itself')


def a_nested_run_on_another_name_works():
    done = dibs('run', 'nest', '--', DIBS, 'run', 'egg', '--', DIBS, 'run', 'nest', 'true')
    equal(done.code, 80, done)
    equal(dibs('run', 'nest', '--', DIBS, 'run', 'egg', '--', 'echo', 'yes').out, 'yes\n')


def the_same_name_elsewhere_is_another_lock():
    done = dibs('run', 'nest', '--', DIBS, 'run', '--prefix', 'other', 'nest', '--', 'echo',
                'yes')
    equal((done.code, done.out), (0, 'yes\n'), done)


# ---- waiting ----

def waiters_are_served_in_order():
    first = holder('queue')
    out = temporary_file()
    waiters = []
    for n in range(4):
        waiters.append(start('run', 'queue', '--', 'sh', '-c', 'echo %d >>%s' % (n, out)))
        until_waiting('queue', n + 1)
    end_holder(first)
    for waiter in waiters:
        equal(finish(waiter).code, 0)
    equal(read(out), '0\n1\n2\n3\n')
    os.unlink(out)


def a_signal_while_waiting_ends_it_within_a_second_and_leaves_no_entry():
    other = holder('leave')
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        waiter = start('run', 'leave', '--', 'echo', 'ran')
        until_waiting('leave')
        sent = time.monotonic()
        waiter.send_signal(number)
        done = finish(waiter)
        assert time.monotonic() - sent < 1.0, number
        equal((done.code, done.out), (128 + number, ''))
        equal(who('leave')['waiter_count'], 0)
    end_holder(other)


def a_signal_is_heard_even_while_the_server_is_silent():
    other = holder('deaf')
    waiter = start('run', 'deaf', '--', 'true')
    until_waiting('deaf')
    with harness.server.paused():
        sent = time.monotonic()
        waiter.send_signal(signal.SIGTERM)
        equal(finish(waiter).code, 143)
        assert time.monotonic() - sent < 1.0
    end_holder(other)


def term_to_the_wrapper_reaches_the_command_and_frees_the_lock_at_once():
    process = start('run', 'term', '--', 'sleep', '60')
    until_held('term')
    sent = time.monotonic()
    process.send_signal(signal.SIGTERM)
    equal(finish(process).code, 143)
    assert time.monotonic() - sent < 1.0
    assert not is_held('term')


def signals_reach_the_whole_group():
    out = temporary_file()
    process = start('run', 'group', '--', 'sh', '-c',
                    '(trap "echo inner >>%s; exit 0" USR1; echo up >>%s; '
                    'while :; do sleep 0.05; done) & trap "" USR1; wait; wait' % (out, out))
    until_text(out, 'up')
    process.send_signal(signal.SIGUSR1)
    until_text(out, 'inner')
    finish(process)
    os.unlink(out)


def plain_progress_names_the_holder_and_the_place():
    other = holder('seen')
    waiter = start('run', '--progress', 'plain', 'seen', '--', 'true')
    until_waiting('seen')
    line = waiter.stderr.readline()
    contains(line, 'waiting for seen: held by')
    contains(line, '"cat"')
    contains(line, 'you are 1st of 1')
    end_holder(other)
    equal(finish(waiter).code, 0)


def json_progress_is_one_object_a_line():
    other = holder('seen')
    waiter = start('run', '--json', 'seen', '--', 'true')
    until_waiting('seen')
    event = json.loads(waiter.stderr.readline())
    equal((event['v'], event['event'], event['place']), (1, 'waiting', 1))
    equal(event['lock']['holder']['program'], 'cat')
    end_holder(other)
    events = [json.loads(line)['event'] for line in waiter.stderr]
    equal(finish(waiter).code, 0)
    equal(events[-2:], ['acquired', 'ended'])


def nothing_is_said_when_nothing_happens():
    equal(dibs('run', 'calm', '--', 'true').err, '')
    contains(dibs('run', '--verbose', 'calm', '--', 'true').err, 'acquired calm after')


# ---- holding ----

def _holding_on():
    """Its command has ended with 3, and --min-hold has begun."""
    process = start('run', '--min-hold', '60s', 'grace', '--', 'sh', '-c', 'echo up; exit 3')
    equal(process.stdout.readline(), 'up\n')
    until(lambda: not read('/proc/%d/task/%d/children' % (process.pid, process.pid)),
          'the command has ended')
    return process



def min_hold_keeps_the_lock_after_a_fast_command():
    process = start('run', '--min-hold', '1s', 'grace', '--', 'true')
    until_held('grace')
    equal(dibs('run', '-n', '--skip-ok', 'grace', '--', 'echo', 'twice').out, '')
    began = time.monotonic()
    equal(finish(process).code, 0)
    assert time.monotonic() - began > 0.3
    assert not is_held('grace')


def a_loss_during_min_hold_is_reported_as_such():
    process = _holding_on()
    equal(dibs('break', '--yes', 'grace').code, 0)
    done = finish(process)
    equal(done.code, 79, done)
    contains(done.err, 'grace was lost during --min-hold, after the command had ended')
    lacks(done.err, 'before the command ended')


def a_signal_that_ends_programs_ends_min_hold():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGALRM,
                   signal.SIGRTMIN):
        process = _holding_on()
        process.send_signal(number)
        equal(finish(process).code, 3, number)


def max_hold_stops_the_command_in_time_and_gives_79():
    began = time.monotonic()
    done = dibs('run', '-t', '1s', '--max-hold', '1500ms', '-k', '200ms', 'cap', '--',
                'sleep', '60')
    equal(done.code, 79, done)
    contains(done.err, '--max-hold')
    assert time.monotonic() - began < 1.6, done


def a_background_process_of_the_command_is_left_alone():
    out = temporary_file()
    done = dibs('run', 'back', '--', 'sh', '-c',
                'sleep 30 >/dev/null 2>&1 & echo $! >%s' % out)
    equal(done.code, 0, done)
    pid = int(read(out))
    assert is_alive(pid)
    assert not is_held('back')
    os.kill(pid, signal.SIGKILL)
    os.unlink(out)


# ---- reports ----

def status_file_tells_how_it_went():
    path = temporary_file()
    dibs('run', '--status-file', path, 'report', '--', 'sh', '-c', 'exit 5')
    report = json.loads(read(path))
    equal([report[k] for k in ('v', 'name', 'acquired', 'lost', 'child', 'code')],
          [1, 'report', True, False, {'exit': 5}, 5])
    equal(str(report['fence']), report['fence_text'])
    dibs('run', '--status-file', path, 'report', '--', 'sh', '-c', 'kill -9 $$')
    equal(json.loads(read(path))['child'], {'signal': 9})
    other = holder('report')
    dibs('run', '-n', '--status-file', path, 'report', '--', 'true')
    report = json.loads(read(path))
    equal([report['acquired'], report['child'], report['code']], [False, None, 75])
    end_holder(other)
    os.unlink(path)


# Its own of 0, 1 and 2, by a number that is open or not; and what those of `dibs` are.
LOOK_AT_DESCRIPTORS = """
import os, sys
def is_open(number):
    try:
        return os.fstat(number) is not None
    except OSError:
        return False
own = [n for n in (0, 1, 2) if is_open(n)]
wrapper = [os.readlink('/proc/%s/fd/%d' % (os.environ['WRAPPER'], n)) for n in (0, 1, 2)]
guardian = [os.readlink('/proc/%d/fd/%d' % (os.getppid(), n)) for n in (0, 1, 2)]
with open(sys.argv[1], 'w') as file:
    file.write(repr((own, wrapper, guardian)))
"""


def closed_descriptors_stay_closed_and_nothing_else_gets_their_numbers():
    for closed in ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)):
        out = temporary_file()
        script = 'export WRAPPER=$$; exec "$DIBS" run bare -- "$@" %s' % (
            ' '.join('%d>&-' % number for number in closed))
        done = subprocess.run(['sh', '-c', script, 'sh', sys.executable, '-c',
                               LOOK_AT_DESCRIPTORS, out], env=environment(), timeout=PATIENCE,
                              stdin=subprocess.DEVNULL)
        equal(done.returncode, 0, closed)
        with open(out) as file:
            own, wrapper, guardian = eval(file.read())
        equal([n for n in (0, 1, 2) if n not in own], list(closed))
        equal([n for n in (0, 1, 2) if wrapper[n] == '/'], list(closed), wrapper)
        equal(guardian, ['/'] * 3)
        os.unlink(out)


def status_fd_tells_the_same_and_the_command_does_not_get_it():
    reader, writer = os.pipe()
    done = dibs('run', '--status-fd', str(writer), 'report', '--', 'sh', '-c',
                'test ! -e /proc/$$/fd/%d' % writer, pass_fds=[writer])
    os.close(writer)
    equal(done.code, 0, done)
    equal(json.loads(os.read(reader, 4096))['child'], {'exit': 0})
    os.close(reader)


def a_status_fd_that_takes_nothing_does_not_keep_the_wrapper():
    reader, writer = os.pipe()
    fill_pipe(writer)
    done = dibs('run', '--status-fd', str(writer), 'report', '--', 'sh', '-c', 'exit 3',
                pass_fds=[writer])
    equal(done.code, 3, done)
    contains(done.err, '--status-fd %d: its reader does not read' % writer)
    os.close(reader)
    done = dibs('run', '--status-fd', str(writer), 'report', '--', 'sh', '-c', 'exit 3',
                pass_fds=[writer])
    equal(done.code, 3, done)
    contains(done.err, '--status-fd %d: Broken pipe' % writer)
    os.close(writer)


def quiet_on_success_shows_output_only_of_a_failure():
    text = 'echo out; echo err >&2; exit %d'
    done = dibs('run', '--quiet-on-success', 'cron', '--', 'sh', '-c', text % 0)
    equal((done.code, done.out, done.err), (0, '', ''))
    done = dibs('run', '--quiet-on-success', 'cron', '--', 'sh', '-c', text % 3)
    equal((done.code, done.out, done.err), (3, 'out\n', 'err\n'))


def quiet_on_success_says_why_there_is_no_output():
    other = holder('cron')
    for more in (['-n'], ['-w', '10ms']):
        done = dibs('run', *more, '--quiet-on-success', 'cron', '--', 'true')
        equal((done.code, done.out), (75, ''))
        contains(done.err, 'cron is ')
        done = dibs('run', *more, '--skip-ok', '--quiet-on-success', 'cron', '--', 'true')
        equal((done.code, done.out, done.err), (0, '', ''))
    end_holder(other)
    done = subprocess.run(['sh', '-c', 'ulimit -f 1; exec "$0" run --quiet-on-success cron -- '
                           'sh -c "trap \'\' XFSZ; printf %02500d 7 2>/dev/null; exit 3"', DIBS],
                          env=environment(), capture_output=True, text=True, timeout=PATIENCE)
    equal((done.returncode, set(done.stdout)), (3, {'0'}), done.stderr)
    contains(done.stderr, 'the output of the command may be incomplete: it has reached the limit')


LONG = 300000                       # bytes; more than a pipe takes


def _start_long_output(writing):
    """Its command has failed after LONG bytes of output, which fill the pipe `writing`."""
    process = start('run', '--quiet-on-success', 'cron', '--', 'sh', '-c',
                    'yes | head -c %d; exit 3' % LONG, stdout=writing)
    until(lambda: not select.select([], [writing], [], 0)[1], 'the pipe is full')
    return process


def quiet_on_success_waits_for_the_reader_of_a_pipe_that_does_not_block():
    for is_blocking in (False, True):
        reader, writer = os.pipe()
        os.set_blocking(writer, is_blocking)
        process = _start_long_output(writer)
        os.close(writer)
        until(lambda: not is_held('cron'), 'the lock is free before the output is read')
        with open(reader, 'rb') as f:
            equal(len(f.read()), LONG, is_blocking)
        equal((process.wait(PATIENCE), process.stderr.read()), (3, ''))


def quiet_on_success_ends_by_a_signal_while_the_output_is_not_read():
    for is_blocking in (False, True):
        reader, writer = os.pipe()
        os.set_blocking(writer, is_blocking)
        process = _start_long_output(writer)
        until(lambda: not is_held('cron'), 'the lock is free')
        process.send_signal(signal.SIGTERM)
        equal(process.wait(PATIENCE), 143, is_blocking)
        contains(process.stderr.read(), "standard output did not take all of the command's output "
                                        'before signal 15 (Terminated)')
        os.close(reader)
        os.close(writer)


def quiet_on_success_says_which_output_cannot_be_written_and_why():
    with open('/dev/full', 'w') as full:
        process = start('run', '--quiet-on-success', 'cron', '--', 'sh', '-c', 'echo x; exit 3',
                        stdout=full)
        equal((process.wait(PATIENCE), process.stderr.read()),
              (3, "dibs: cannot write all of the command's output to standard output: "
                  'No space left on device\n'))


def notify_tells_systemd_when_it_is_ready():
    with systemd() as (s, env):
        done = dibs('run', '--notify', 'service', '--', 'sh', '-c', 'echo "$NOTIFY_SOCKET"',
                    env=env)
        equal(done.out, '\n', done)
        contains(s.recv(1000).decode(), 'STATUS=waiting for service')
        contains(s.recv(1000).decode(), 'READY=1')


tests(dict(globals()))
