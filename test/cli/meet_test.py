#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dibs latch and dibs barrier: programs that wait for each other."""
import json
import signal
import time

from harness import *  # noqa
import harness


def _mistake(*words, says):
    done = dibs(*words)
    equal((done.code, done.out), (64, ''), done)
    contains(done.err, says)


# ---- latch ----

def a_latch_counts_down_and_tells_what_is_left():
    equal(dibs('latch', 'set', 'rel', '3').out, '3\n')
    equal(dibs('latch', 'down', 'rel').out, '2\n')
    equal(dibs('latch', 'show', 'rel').out, 'rel  2 left\n')
    equal(dibs('latch', 'wait', '-w', '0', 'rel').code, 75)
    equal(dibs('latch', 'down', 'rel', '5').out, '0\n')
    equal(dibs('latch', 'wait', '-w', '0', 'rel').code, 0)
    done = dibs('latch', 'down', 'rel')
    equal(done.code, 66, done)
    contains(done.err, 'rel is not armed: dibs latch set rel N')


def everybody_who_waits_is_released():
    dibs('latch', 'set', 'go', '2')
    waiters = [start('latch', 'wait', 'go') for _ in range(5)]
    waiters.append(start('wait', '--zero', 'go'))
    until(lambda: 'redisson_countdownlatch__channel__{go}\r\n:6' in harness.server.ask(
        'PUBSUB', 'NUMSUB', 'redisson_countdownlatch__channel__{go}'), 'all six listen')
    dibs('latch', 'down', 'go')
    assert all(w.poll() is None for w in waiters)
    dibs('latch', 'down', 'go')
    began = time.monotonic()
    for waiter in waiters:
        equal(finish(waiter).code, 0)
    assert time.monotonic() - began < 2.0


def one_id_counts_once_until_the_latch_is_armed_anew():
    dibs('latch', 'set', 'ids', '3')
    equal([dibs('latch', 'down', '--once', i, 'ids').out for i in ('a', 'a', 'b')],
          ['2\n', '2\n', '1\n'])
    dibs('latch', 'rm', 'ids')
    dibs('latch', 'set', 'ids', '3')
    equal(dibs('latch', 'down', '--once', 'a', 'ids').out, '2\n')


def an_armed_latch_is_not_armed_again():
    dibs('latch', 'set', 'armed', '3')
    done = dibs('latch', 'set', 'armed', '5')
    equal((done.code, done.out), (75, ''), done)
    contains(done.err, 'armed is armed already, with 3 left')


def a_latch_that_is_not_armed_is_at_zero():
    equal(dibs('latch', 'wait', 'never').code, 0)
    equal(dibs('latch', 'show', 'never').out, 'never  0 left\n')


def latch_json_tells_what_is_left():
    got = json.loads(dibs('latch', 'set', '--json', 'object', '7').out)
    del got['time']
    equal(got, {'v': 1, 'name': 'object', 'kind': 'latch', 'state': 'armed',
                'left': 7})


def a_latch_wait_ends_in_time_and_by_a_signal():
    dibs('latch', 'set', 'slow', '1')
    done = dibs('latch', 'wait', '-w', '1s', 'slow')
    equal(done.code, 75, done)
    contains(done.err, 'slow is not at zero after 1.0s')
    assert 1.0 <= done.seconds < 2.6
    waiter = start('latch', 'wait', 'slow')
    until(lambda: ':1' in harness.server.ask(
        'PUBSUB', 'NUMSUB', 'redisson_countdownlatch__channel__{slow}'), 'it listens')
    waiter.send_signal(signal.SIGTERM)
    equal(finish(waiter, 3).code, 143)


def something_else_under_the_name_gives_65():
    harness.server.ask('LPUSH', 'a-list', 'x')
    for words in (['set', 'a-list', '3'], ['down', 'a-list'], ['wait', 'a-list'],
                  ['show', 'a-list']):
        done = dibs('latch', *words)
        equal(done.code, 65, (words, done))


def ls_without_names_shows_latches_that_left_a_trace_each_once():
    for name in ('tr:plain', '{tr:tag}:x', 'tr:1:2'):
        dibs('latch', 'set', name, '3')
        dibs('latch', 'down', '--once', 'a', name)
        dibs('latch', 'down', name)          # leaves its answer for a minute, no trace
    dibs('latch', 'set', 'tr:untouched', '3')
    lines = dibs('latch', 'ls').out.splitlines()[1:]
    equal(sorted(line.split()[0] for line in lines if 'tr:' in line),
          ['tr:1:2', 'tr:plain', '{tr:tag}:x'])
    for line in lines:
        if 'tr:' in line:
            contains(line, ' 1 left ')


def a_latch_whose_whole_name_is_a_tag_is_not_that_without_braces():
    for name, left in (('{tagged}', '3'), ('tagged', '5')):
        dibs('latch', 'set', name, left)
        dibs('latch', 'down', '--once', 'a', name)
    for words in (['latch', 'ls'], ['status']):
        lines = dibs(*words).out.splitlines()
        equal(sorted(line.split()[0::2][:2] for line in lines if 'tagged' in line),
              [['tagged', '4'], ['{tagged}', '2']], lines)
    lines = dibs('status', '{tagged}').out.splitlines()
    equal([line.split()[0] for line in lines[1:]], ['{tagged}'])


# ---- barrier ----

def a_barrier_lets_all_go_when_the_last_one_comes():
    early = [start('barrier', 'wait', '--json', '--parties', '3', 'gate') for _ in range(2)]
    until(lambda: dibs('barrier', 'show', 'gate').out.startswith('gate  2 of 3 arrived'),
          'two are there')
    assert all(p.poll() is None for p in early)
    last = json.loads(dibs('barrier', 'wait', '--json', '--parties', '3', 'gate').out)
    equal((last['index'], last['arrived'], last['parties'], last['state']), (2, 3, 3, 'whole'))
    rows = []
    for process in early:
        done = finish(process)
        equal(done.code, 0, done)
        rows.append(json.loads(done.out))
    equal(sorted(row['index'] for row in rows), [0, 1])
    equal({row['generation'] for row in rows}, {last['generation']})
    contains(dibs('barrier', 'show', 'gate').out, '0 of 3 arrived, generation %d' %
             (last['generation'] + 1))


def who_gives_up_breaks_it_for_the_others():
    for how in ('time', 'signal'):
        name = 'gate:' + how
        patient = start('barrier', 'wait', '--parties', '3', name)
        until(lambda: ' 1 of 3' in dibs('barrier', 'show', name).out, 'one is there')
        if how == 'time':
            done = dibs('barrier', 'wait', '--json', '-w', '1s', '--parties', '3', name)
            said = fault(done)
            equal((done.code, said['status'], said['code']), (75, 'DIBS_TIMED_OUT', 75))
        else:
            other = start('barrier', 'wait', '--parties', '3', name)
            until(lambda: ' 2 of 3' in dibs('barrier', 'show', name).out, 'two are there')
            other.send_signal(signal.SIGTERM)
            equal(finish(other, 3).code, 143)
        done = finish(patient, 5)
        equal(done.code, 1, done)
        contains(done.err, 'is broken')
        contains(dibs('barrier', 'show', name).out, ', broken')
        lacks(dibs('status', '--waiting').out, name)
        equal(dibs('barrier', 'wait', '--parties', '3', name).code, 1)
        equal(dibs('barrier', 'reset', name).code, 0)
        lacks(dibs('barrier', 'show', name).out, 'broken')


def who_dies_breaks_it_within_ten_seconds():
    patient = start('barrier', 'wait', '--parties', '3', 'dead')
    other = start('barrier', 'wait', '--parties', '3', 'dead')
    until(lambda: ' 2 of 3' in dibs('barrier', 'show', 'dead').out, 'two are there')
    other.kill()
    equal(finish(patient, 15).code, 1)


def a_barrier_of_another_size_gives_64():
    first = start('barrier', 'wait', '--parties', '3', 'size')
    until(lambda: ' 1 of 3' in dibs('barrier', 'show', 'size').out, 'one is there')
    done = dibs('barrier', 'wait', '--parties', '4', 'size')
    equal(done.code, 64, done)
    first.kill()


def a_barrier_that_nobody_used_gives_1():
    equal(dibs('barrier', 'show', 'unused').code, 1)


def mistakes_give_64():
    _mistake('latch', 'set', 'x', says='dibs latch set NAME N')
    _mistake('latch', 'set', 'x', '0', says='"0": allowed are 1 to ')
    _mistake('latch', 'don', 'x', says='did you mean "dibs latch down"?')
    _mistake('latch', 'down', '--once', '', 'x', says='128')
    _mistake('barrier', 'wait', 'x', says='--parties N')
    _mistake('barrier', 'wait', '--parties', '0', 'x', says='"0"')
    _mistake('barrier', 'wait', '--parties', '2', '-w', '0', 'x', says='-w 0')
    _mistake('barrier', says='missing')


def latches_of_a_cluster_are_listed_by_their_names():
    names = ['a}b', 'x}', '{}', '{}}y', '1}:z', '{a}b', '{t}}', 'x{y', 'plain']
    box = Sandbox('--cluster', '1')
    try:
        for name in names:
            equal(dibs('latch', 'set', name, '3', env={'DIBS_URL': box.url}).code, 0)
            equal(dibs('latch', 'down', '--once', '1', name, env={'DIBS_URL': box.url}).code, 0)
        out = dibs('latch', 'ls', '--json', env={'DIBS_URL': box.url}).out
        listed = [json.loads(line) for line in out.splitlines()]
        equal({row['name']: row['left'] for row in listed}, {name: 2 for name in names}, out)
    finally:
        box.stop()


tests(dict(globals()))
