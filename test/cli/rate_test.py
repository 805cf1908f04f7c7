#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dibs rate: at most so many in so long. And what of the command is about other dialects:
their locks in dibs status, permits without leases."""
import json
import time

from harness import *  # noqa
import harness

JAVA = ('--dialect', 'redisson')
PLAIN = ('--dialect', 'plain')


def _mistake(*words, says):
    done = dibs(*words)
    equal((done.code, done.out), (64, ''), done)
    contains(done.err, says)


def _shown(name):
    return json.loads(dibs('rate', 'show', '--json', name).out)


# ---- rate ----

def a_rate_is_set_taken_from_and_shown():
    equal(dibs('rate', 'set', 'api', '3', '1h').code, 0)
    equal(dibs('rate', 'show', 'api').out, 'api  3 free of 3 in 1h00m\n')
    equal(dibs('rate', 'take', 'api').code, 0)
    equal(dibs('rate', 'take', 'api', '2').code, 0)
    now = _shown('api')
    equal((now['kind'], now['free'], now['permits'], now['interval_ms'], now['per_client']),
          ('rate', 0, 3, 3600000, False))


def without_room_it_ends_with_75_at_once_or_after_the_wait():
    dibs('rate', 'set', 'full', '1', '1h')
    dibs('rate', 'take', 'full')
    done = dibs('rate', 'take', '-n', 'full')
    equal(done.code, 75, done)
    contains(done.err, 'full has no room now; in ')
    began = time.monotonic()
    done = dibs_with_limit('rate', 'take', '--json', '-w', '1s', 'full')
    equal((done.code, fault(done)['status'], fault(done)['code']), (75, 'DIBS_TIMED_OUT', 75))
    contains(fault(done)['text'], 'full has no room within ')
    assert time.monotonic() - began >= 0.2


def it_waits_until_there_is_room():
    dibs('rate', 'set', 'soon', '1', '300ms')
    began = time.monotonic()
    for _ in range(3):
        equal(dibs('rate', 'take', 'soon').code, 0)
    assert time.monotonic() - began >= 0.6      # the second and third waited for an interval each


def setting_it_again_keeps_what_was_taken():
    dibs('rate', 'set', 'again', '5', '1h')
    dibs('rate', 'take', 'again', '4')
    equal(dibs('rate', 'set', 'again', '9', '1h').code, 0)
    equal(_shown('again')['free'], 5)


def each_client_may_have_its_own():
    dibs('rate', 'set', '--per-client', 'own', '1', '1h')
    equal([dibs('rate', 'take', '-n', 'own').code for _ in range(3)], [0, 0, 0])
    contains(dibs('rate', 'show', 'own').out, 'for each client')


def what_is_not_set_or_something_else_gives_66_or_65():
    done = dibs('rate', 'take', 'unset')
    equal(done.code, 66, done)
    contains(done.err, 'dibs rate set unset N TIME')
    dibs('rate', 'set', 'gone', '1', '1s')
    equal(dibs('rate', 'rm', 'gone').code, 0)
    equal(dibs('rate', 'show', 'gone').code, 66)
    harness.server.ask('SET', 'word', 'x')
    done = dibs('rate', 'take', 'word')
    equal(done.code, 65, done)
    contains(done.err, 'no rate limiter')


def mistakes_give_64():
    _mistake('rate', says='missing')
    _mistake('rate', 'tke', 'x', says='did you mean "dibs rate take"?')
    _mistake('rate', 'set', 'x', '3', says='dibs rate set NAME N TIME')
    _mistake('rate', 'set', 'x', '3', 'soon', says='"soon" is no time')
    _mistake('rate', 'set', 'x', '0', '1s', says='"0": allowed are 1 to ')
    _mistake('rate', 'take', 'x', 'many', says='"many"')
    dibs('rate', 'set', 'three', '3', '1s')
    _mistake('rate', 'take', 'three', '4', says='never has more than 3')


# ---- permits without leases ----

def a_command_runs_with_permits_of_a_plain_semaphore():
    dibs('sem', 'set', *JAVA, 'pool', '3')
    inside = harness.server.ask('GET', 'pool')
    contains(inside, '3')
    process = start('run', *JAVA, '--plain-permits', '--take', '2', 'pool', '--', 'sleep', '60')
    until(lambda: '\n1\r' in harness.server.ask('GET', 'pool'), 'two are taken')
    process.terminate()
    finish(process)
    contains(harness.server.ask('GET', 'pool'), '\n3\r')


def permits_that_are_out_do_not_change_the_number_of_a_plain_semaphore():
    dibs('sem', 'set', *JAVA, 'beside', '2')
    harness.server.ask('DECR', 'beside')          # Redisson has one
    done = dibs('run', '-n', *JAVA, '-j', '2', '--plain-permits', 'beside:1', '--', 'echo', 'in')
    equal((done.code, done.out), (0, 'in\n'), done)


def permits_without_a_lease_belong_to_run():
    _mistake('acquire', *JAVA, '--take', '1', '--plain-permits', 'pool', says='no token')
    _mistake('run', *JAVA, '--plain-permits', 'pool', '--', 'true', says='--take M')


# ---- dibs status in dialects ----

def locks_of_a_dialect_are_listed_by_a_pattern():
    for dialect in (JAVA, PLAIN):
        process = start('run', *dialect, dialect[1] + ':lock', '--', 'sleep', '60')
        until(lambda: dibs('who', *dialect, dialect[1] + ':lock').code == 0, 'it is held')
        rows = dibs('status', *dialect, dialect[1] + ':*').out.splitlines()
        equal([row.split()[:3] for row in rows[1:]], [[dialect[1] + ':lock', 'lock', 'held']])
        equal(dibs('status', '--exit-code', *dialect, 'other:*').code, 1)
        process.terminate()
        finish(process)
        _mistake('status', *dialect, says='give a pattern')


tests(dict(globals()))
