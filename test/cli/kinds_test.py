#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dibs run and acquire: read/write locks, semaphores, several names at once.
Users of GNU sem find their expectations under permits_."""
import json
import os
import signal
import subprocess
import time

from harness import *  # noqa
import harness


def _keeper(*words, count=1):
    """Somebody who holds something until end_holder(): `words` are options and the name."""
    process = start('run', *words, '--', 'cat', stdin=subprocess.PIPE)
    name = words[-1]
    until(lambda: len(who(name)['holders']) == count, '%d hold %s' % (count, name))
    return process


def _lines(path):
    return read(path).splitlines()


# ---- read/write locks ----

def readers_go_together():
    first, second = _keeper('-s', 'cfg'), _keeper('--shared', 'cfg', count=2)
    got = who('cfg')
    equal((got['kind'], got['state'], [h['mode'] for h in got['holders']]),
          ('rw', 'held', ['read', 'read']))
    equal(sorted(h['pid'] for h in got['holders']), sorted([first.pid, second.pid]))
    end_holder(first)
    end_holder(second)
    equal(who('cfg')['state'], 'free')


def a_writer_excludes_readers_and_readers_a_writer():
    reader = _keeper('-s', 'book')
    refused(dibs('run', '-n', '--write', 'book', '--', 'echo', 'no').code, 75)
    equal(dibs('run', '-n', '-s', 'book', '--', 'echo', 'yes').out, 'yes\n')
    end_holder(reader)
    writer = _keeper('--write', 'book')
    done = dibs('run', '-n', '-s', 'book', '--', 'echo', 'no')
    refused((done.code, done.out), (75, ''))
    contains(done.err, 'book is busy: written by')
    refused(dibs('run', '-n', '--write', 'book', '--', 'echo', 'no').code, 75)
    end_holder(writer)


def the_writer_of_0_5_is_refused_and_never_another_lock():
    for words in (['run', '-x', 'old', 'echo', 'no'], ['run', '-e', 'old', 'echo', 'no'],
                  ['run', '--exclusive', 'old', 'echo', 'no'], ['run', '-sx', 'old', 'echo', 'no'],
                  ['acquire', '-x', 'old'], ['acquire', '-n', '--exclusive', '--no-renew', 'old']):
        done = dibs(*words)
        refused((done.code, done.out), (64, ''), words)
        for part in ('--write', 'dibs flock -x', 'default'):
            contains(done.err, part)
    equal(who('old')['state'], 'free')


def a_reader_behind_a_waiting_writer_waits_and_they_go_in_order():
    out = temporary_file()
    reader = _keeper('-s', 'order')
    writer = start('run', '--write', 'order', '--', 'sh', '-c', 'echo write >>%s' % out)
    until_waiting('order')
    refused(dibs('run', '-n', '-s', 'order', '--', 'true').code, 75)
    late = start('run', '-s', 'order', '--', 'sh', '-c', 'echo read >>%s' % out)
    until_waiting('order', 2)
    equal([(w['mode'], w['pid']) for w in who('order')['queue']],
          [('write', writer.pid), ('read', late.pid)])
    end_holder(reader)
    equal((finish(writer).code, finish(late).code), (0, 0))
    equal(_lines(out), ['write', 'read'])
    os.unlink(out)


def a_killed_readers_lease_ends_and_the_writer_comes_in():
    reader = _keeper('-s', '-t', '1s', 'crash')
    writer = start('run', '--write', 'crash', '--', 'echo', 'in')
    until_waiting('crash')
    reader.kill()
    died = time.monotonic()
    done = finish(writer)
    equal((done.code, done.out), (0, 'in\n'))
    assert time.monotonic() - died < 3.5, 'lease, and the second that clocks may differ'


def waiting_for_readers_names_them():
    first, second = _keeper('-s', 'seen'), _keeper('-s', 'seen', count=2)
    waiter = start('run', '--write', '--progress', 'plain', 'seen', '--', 'true')
    line = waiter.stderr.readline()
    contains(line, 'waiting for seen: read by')
    contains(line, ':%d cat' % first.pid)
    contains(line, ':%d cat' % second.pid)
    contains(line, 'you are 1st of 1')
    end_holder(first)
    end_holder(second)
    equal(finish(waiter).code, 0)


# ---- one name, two kinds ----

def a_name_of_another_kind_gives_65_and_says_which_option_fits():
    reader, permit, mutex = _keeper('-s', 'k:rw'), _keeper('-j', '2', 'k:sem'), holder('k:lock')
    for words, part in ((['k:rw'], 'read/write lock: take it with -s to read or --write'),
                        (['-j', '2', 'k:rw'], 'read/write lock'),
                        (['k:sem'], 'semaphore: take permits with -j N'),
                        (['-s', 'k:sem'], 'semaphore'),
                        (['-s', 'k:lock'], 'exclusive lock: leave out -s'),
                        (['-j', '2', 'k:lock'], 'exclusive lock: leave out'),
                        (['--multi', 'k:free,k:rw'], 'k:rw is in use as a read/write lock')):
        done = dibs('run', *words, '--', 'echo', 'no')
        equal((done.code, done.out), (65, ''), done)
        contains(done.err, part)
    for words, part in ((['flock', '-n', 'k:lock'], 'lock: dibs run NAME -- CMD takes it'),
                        (['flock', '-n', 'k:sem'], 'semaphore: dibs run -j N or --take M takes'),
                        (['elect', 'run', 'k:rw', '--'], 'lock: dibs run -s or --write takes it')):
        done = dibs(*words, 'true')
        equal(done.code, 65, done)
        contains(done.err, part)
    equal(who('k:free')['state'], 'free')
    for process in (reader, permit, mutex):
        end_holder(process)
    for words, part in ((['run', 'k:rw', 'true'], 'k:rw was used as a read/write lock (another'),
                        (['run', 'k:sem', 'true'], 'k:sem was used as a semaphore (dibs sem rm'),
                        (['sem', 'set', 'k:lock', '2'], 'k:lock was used as an exclusive lock (')):
        done = dibs(*words)
        equal((done.code, done.out), (65, ''), done)
        contains(done.err, part)


# ---- semaphores ----

def permits_ten_jobs_with_j_3_are_never_more_than_three_at_once():
    out = temporary_file()
    script = 'echo + >>%s; sleep 0.1; echo - >>%s' % (out, out)
    jobs = [start('run', '-j', '3', 'render', '--', 'sh', '-c', script) for _ in range(10)]
    for job in jobs:
        equal(finish(job).code, 0)
    now = most = 0
    for mark in _lines(out):
        now += 1 if mark == '+' else -1
        most = max(most, now)
    equal((now, len(_lines(out))), (0, 20))
    assert 2 <= most <= 3, most
    equal((who('render')['used'], who('render')['limit']), (0, 3))
    os.unlink(out)


def permits_fg_is_the_default_and_the_exit_code_comes_through():
    equal(dibs('run', '--fg', '-j', '2', 'gnu', 'sh', '-c', 'exit 7').code, 7)
    equal(dibs('run', '--permits', '2', 'gnu', 'echo', 'a', 'b').out, 'a b\n')


def permits_wait_free_is_what_sem_wait_is():
    jobs = [_keeper('-j', '2', 'batch', count=n + 1) for n in range(2)]
    waiter = start('wait', 'batch')
    end_holder(jobs[0])
    equal(dibs('wait', '-w', '0', 'batch').code, 75)
    equal(dibs('wait', '-w', '3s', 'batch').code, 75)
    assert waiter.poll() is None
    end_holder(jobs[1])
    equal(finish(waiter, 3).code, 0)


def a_wait_whose_last_question_has_no_time_for_a_reply_ends_as_busy():
    busy = holder('far')
    far = harness.Proxy(harness.server, delay=0.1)
    done = dibs('wait', '-u', far.url, '-w', '3s', 'far')
    equal(done.code, 75, done)
    far.stop()
    end_holder(busy)


def permits_take_several_all_or_none():
    two = _keeper('-j', '3', '--take', '2', 'bulk')
    equal(who('bulk')['holders'][0]['units'], 2)
    done = dibs('run', '-n', '-j', '3', '--take', '2', 'bulk', '--', 'true')
    refused(done.code, 75, done)
    contains(done.err, 'bulk is busy: 2 of 3 permits held by')
    equal(dibs('run', '-n', '-j', '3', 'bulk', '--', 'sh', '-c', 'echo $DIBS_PERMITS').out,
          '1\n')
    end_holder(two)


def a_try_behind_a_waiter_for_more_permits_says_so():
    two = _keeper('-j', '3', '--take', '2', 'narrow')
    more = start('run', '--take', '3', 'narrow', '--', 'echo', 'three')
    until_waiting('narrow')
    done = dibs('run', '-n', '--take', '1', 'narrow', '--', 'true')
    refused(done.code, 75, done)
    contains(done.err, 'others wait, and come first')
    end_holder(two)
    equal(finish(more).out, 'three\n')


def a_paused_semaphore_is_not_said_to_be_held():
    equal(dibs('sem', 'set', 'paused', '0').code, 0)
    for limit in ('0', '1s'):
        done = dibs_with_limit('run', '-w', limit, '--take', '1', 'paused', '--', 'true')
        refused(done.code, 75, done)
        contains(done.err, 'paused: paused: it has 0 permits')
        for untrue in ('busy', 'holds', 'handed over'):
            lacks(done.err, untrue)


def permits_another_count_gives_65_and_names_both_and_resize():
    job = _keeper('-j', '3', 'count')
    done = dibs('run', '-j', '4', 'count', '--', 'echo', 'no')
    equal((done.code, done.out), (65, ''), done)
    contains(done.err, 'count has 3 permits, not 4')
    contains(done.err, 'dibs sem set count 4')
    end_holder(job)


def permits_take_without_j_wants_a_semaphore_that_is_set_up():
    done = dibs('run', '--take', '1', 'unset', '--', 'true')
    equal(done.code, 66, done)
    contains(done.err, 'dibs sem set unset N')
    equal(dibs('sem', 'set', 'isset', '2').code, 0)
    equal(dibs('run', '--take', '2', 'isset', '--', 'echo', 'yes').out, 'yes\n')
    done = dibs('run', '--take', '3', 'isset', '--', 'true')
    equal(done.code, 65, done)
    contains(done.err, 'isset has 2 permits: 3 ')


def a_wrong_number_is_refused_with_the_word_that_is_allowed():
    for option, value, allowed in (('--replicas', 'most', 'a number from 1 to 100, or majority'),
                                   ('--take', 'both', ', or all'), ('--take', '0', ', or all')):
        done = dibs('run', option, value, 'x', '--', 'true')
        equal(done.code, 64, done)
        contains(done.err, allowed)
    done = dibs('run', '--permits', 'all', 'x', '--', 'true')
    equal(done.code, 64, done)
    assert ', or' not in done.err, done


def permits_of_a_killed_job_come_back_within_a_lease():
    job = _keeper('-t', '1s', '-j', '1', 'killed')
    job.kill()
    died = time.monotonic()
    equal(dibs('run', '-j', '1', 'killed', '--', 'echo', 'mine').out, 'mine\n')
    assert time.monotonic() - died < 3.5


def a_job_is_dead_before_its_permit_can_be_taken():
    pid_file = temporary_file()
    job = start('run', '-t', '2s', '-j', '1', 'stuck', '--', 'sh', '-c',
                'trap "" TERM; echo $$ >%s; while :; do sleep 0.02; done' % pid_file)
    pid = int(until_text(pid_file, '\n'))
    before = time.monotonic()
    with harness.server.paused():
        until(lambda: not is_alive(pid), 'the job is dead')
        died = time.monotonic()
    assert died - before < 2.0, died - before
    equal(finish(job).code, 79)
    os.unlink(pid_file)


def a_resize_lets_more_in_and_takes_none_away():
    first = _keeper('-j', '1', 'grow')
    second = start('run', '--take', '1', 'grow', '--', 'echo', 'second')
    until_waiting('grow')
    equal(dibs('sem', 'set', 'grow', '2').code, 0)
    equal(finish(second).out, 'second\n')
    equal(dibs('sem', 'set', 'grow', '0').code, 0)
    assert first.poll() is None
    # With no permits it is paused: others wait, and are let in again.
    refused(dibs('run', '-n', '--take', '1', 'grow', '--', 'true').code, 75)
    done = dibs('run', '-n', '-j', '2', 'grow', '--', 'true')
    refused(done.code, 75, done)
    contains(done.err, 'grow is busy: paused: it has 0 permits until dibs sem set')
    contains(done.err, 'gives it some; 1 held by ')
    third = start('run', '--take', '1', 'grow', '--', 'echo', 'third')
    until_waiting('grow')
    equal(dibs('sem', 'set', 'grow', '2').code, 0)
    equal(finish(third).out, 'third\n')
    equal(end_holder(first).code, 0)


# ---- several names ----

def multi_in_opposite_orders_does_not_deadlock():
    out = temporary_file()
    script = 'n=0; while [ $n -lt 15 ]; do "$DIBS" run --multi %s -- true || exit; ' \
             'n=$((n + 1)); done; echo done >>' + out
    pair = [subprocess.Popen(['sh', '-c', script % names], env=environment())
            for names in ('m:a,m:b', 'm:b,m:a')]
    harness._started.extend(pair)
    for process in pair:
        equal(process.wait(PATIENCE), 0)
    equal(_lines(out), ['done', 'done'])
    os.unlink(out)


def multi_is_all_or_nothing_and_holds_nothing_while_it_waits():
    other = holder('set:b')
    waiter = start('run', '--progress', 'plain', '--multi', 'set:a,set:b,set:c', '--', 'cat',
                   stdin=subprocess.PIPE)
    until_waiting('set:b')
    equal([who('set:' + n)['state'] for n in 'ac'], ['free', 'free'])
    refused(dibs('run', '-n', '--multi', 'set:a,set:b', '--', 'true').code, 75)
    line = waiter.stderr.readline()
    contains(line, 'waiting for set:a,set:b,set:c: set:b is held by')
    end_holder(other)
    for n in 'abc':
        until_held('set:' + n)
    fences = {who('set:' + n)['fence_text'] for n in 'abc'}
    equal(len(fences), 1, 'one fence for all')
    equal(end_holder(waiter).code, 0)
    equal([who('set:' + n)['state'] for n in 'abc'], ['free'] * 3)


def multi_tells_the_command_all_names():
    done = dibs('run', '--multi', 'e:a,e:b', '--', 'sh', '-c', 'echo $DIBS_NAME; echo $DIBS_HELD')
    names, held = done.out.splitlines()
    equal(names, 'e:a,e:b')
    equal([entry.split('=')[0] for entry in held.split()], ['e:a', 'e:b'])
    equal(dibs('run', '--multi', 'e:a,e:b', '-c', 'echo text', env={'SHELL': '/bin/sh'}).out,
          'text\n')


# ---- wrappers inside wrappers ----

def a_nested_run_on_what_is_held_around_it_gives_80():
    for outer, inner in ((['--multi', 'n:a,n:b'], ['n:b']),
                         (['n:b'], ['--multi', 'n:a,n:b']),
                         (['-s', 'n:rw'], ['--write', 'n:rw']),
                         (['-s', 'n:rw'], ['-s', 'n:rw']),
                         (['-j', '1', 'n:one'], ['-j', '1', 'n:one']),
                         (['-j', '3', '--take', '2', 'n:sem'], ['--take', '2', 'n:sem'])):
        done = dibs('run', *outer, '--', DIBS, 'run', *inner, '--', 'echo', 'no')
        equal((done.code, done.out), (80, ''), (outer, inner, done))
        contains(done.err, 'wait for itself')


def a_nested_run_beside_more_readers_than_a_server_lists_gives_80():
    subprocess.run(['sh', '-c', 'for i in $(seq 101); do "$DIBS" acquire -q -n -s -t 10m '
                    '--no-renew n:many >/dev/null || exit; done'], env=environment(), check=True)
    for inner in (['-s', 'n:many'], ['--write', 'n:many']):
        done = dibs('run', '-s', 'n:many', '--', DIBS, 'run', '-n', *inner, '--', 'echo', 'no')
        equal((done.code, done.out), (80, ''), done)
    other = dibs('run', '-u', harness.server.url + '?prefix=p', '-s', 'n:many', '--', DIBS, 'run',
                 '-u', harness.server.url, '-s', 'n:many', '--', 'echo', 'yes')
    equal((other.code, other.out), (0, 'yes\n'), other)
    equal(dibs('break', '--yes', 'n:many').code, 0)


def a_nested_run_takes_permits_that_there_are():
    equal(dibs('run', '-j', '3', 'room', '--', DIBS, 'run', '-j', '3', '--take', '2', 'room',
               '--', 'echo', 'yes').out, 'yes\n')


# ---- reports and tokens ----

def reports_are_written_for_all_kinds():
    path = temporary_file()
    for words, name in ((['-s', 'r:rw'], 'r:rw'), (['-j', '2', 'r:sem'], 'r:sem'),
                        (['--multi', 'r:a,r:b'], 'r:a,r:b')):
        dibs('run', '--status-file', path, *words, '--', 'sh', '-c', 'exit 3')
        report = json.loads(read(path))
        equal((report['name'], report['acquired'], report['lost'], report['code']),
              (name, True, False, 3))
        assert int(report['fence_text']) > 0
    os.unlink(path)


def tokens_of_all_kinds_are_renewed_and_released_once():
    for words, name in ((['-s', 't:r'], 't:r'), (['--write', 't:w'], 't:w'),
                        (['-j', '2', '--take', '2', 't:sem'], 't:sem'),
                        (['--multi', 't:a,t:b'], 't:b')):
        token = dibs('acquire', '--no-renew', '-t', '2s', *words).out.strip()
        assert token and is_held(name), words
        done = dibs('renew', '-v', '-t', '60s', token)
        assert 55000 < int(done.out) <= 60000, (words, done)
        assert who(name)['remaining_ms'] > 50000, words
        equal(dibs('release', token).code, 0, words)
        assert not is_held(name), words


def a_token_that_ran_out_gives_79():
    for words, name in ((['-s', 'o:r'], 'o:r'), (['-j', '1', 'o:sem'], 'o:sem')):
        token = dibs('acquire', '--no-renew', '-t', '500ms', *words).out.strip()
        other = ['--write', 'o:r'] if name == 'o:r' else words
        equal(dibs('run', *other, '--', 'true').code, 0)
        equal(dibs('renew', token).code, 79)
        equal(dibs('release', token).code, 79)


def force_breaks_all_leases_of_a_name_or_the_one_with_the_fence():
    for words, name in ((['-s', 'f:rw'], 'f:rw'), (['-j', '2', 'f:sem'], 'f:sem')):
        tokens = [dibs('acquire', '--no-renew', *words).out.strip() for _ in range(2)]
        fences = [h['fence_text'] for h in who(name)['holders']]
        equal(dibs('break', name, '--yes', '--fence', fences[1]).code, 0)
        equal([h['fence_text'] for h in who(name)['holders']], fences[:1])
        equal(dibs('break', name, '--yes', '--fence', fences[1]).code, 79)
        equal(dibs('break', name, '--yes').code, 0)
        assert not is_held(name)
        for token in tokens:
            equal(dibs('release', token).code, 79)
    tokens = [dibs('acquire', '--no-renew', '-s', 'f:two').out.strip() for _ in range(2)]
    waiter = start('run', '--write', 'f:two', '--', 'echo', 'in')
    until_waiting('f:two')
    equal(dibs('break', 'f:two', '--yes').code, 0)
    equal(finish(waiter).out, 'in\n')


def what_waits_for_replicas_names_them_and_not_itself():
    for number, what in (('1', '1 replica'), ('2', '2 replicas')):
        done = dibs('run', '--replicas', number, 'acked', '--', 'true')
        equal(done.code, 69, done)
        lacks(done.err, 'held by')
        if 'waiting for' in done.err:          # a slow machine may be too late to show it
            contains(done.err, 'waiting for acked: granted, not yet acknowledged by %s\n' % what)


def a_holder_whose_permit_was_broken_is_stopped():
    job = _keeper('-t', '1500ms', '-j', '1', 'f:job')
    equal(dibs('break', 'f:job', '--yes').code, 0)
    equal(finish(job, 5).code, 79)


def for_pid_keeps_permits_and_gives_them_back():
    sleeper = subprocess.Popen(['sleep', '60'])
    harness._started.append(sleeper)
    token = dibs('acquire', '-t', '1s', '-j', '2', '--take', '2', '--for-pid',
                 str(sleeper.pid), 'kept').out.strip()
    until(lambda: who('kept')['renewals'] >= 3, 'it is renewed for longer than a lease')
    equal(who('kept')['used'], 2)
    sleeper.kill()
    sleeper.wait()
    until(lambda: who('kept')['used'] == 0, 'they come back', 3)
    equal(dibs('release', token).code, 79)


def json_of_acquire_tells_the_permits():
    got = json.loads(dibs('acquire', '--json', '--no-renew', '-j', '4', '--take', '3', 'j').out)
    equal((got['name'], got['units']), ('j', 3))
    equal(dibs('release', got['token']).code, 0)


def a_signal_while_waiting_for_permits_leaves_no_entry():
    job = _keeper('-j', '1', 'leave')
    for words in (['-j', '1', 'leave'], ['--take', '1', 'leave']):
        waiter = start('run', *words, '--', 'true')
        until_waiting('leave')
        sent = time.monotonic()
        waiter.send_signal(signal.SIGTERM)
        equal(finish(waiter).code, 143)
        assert time.monotonic() - sent < 1.0
        equal(who('leave')['waiter_count'], 0)
    end_holder(job)


def a_signal_is_heard_while_a_silent_server_is_asked_for_the_permits():
    with harness.server.paused():
        waiter = start('run', '-j', '2', 'silent', '--', 'true')
        until(lambda: len(os.listdir('/proc/%d/task' % waiter.pid)) >= 3, 'it asks')
        sent = time.monotonic()
        waiter.send_signal(signal.SIGTERM)
        equal(finish(waiter).code, 143)
        assert time.monotonic() - sent < 1.0


tests(dict(globals()))
