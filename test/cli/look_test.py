#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dibs status, who, wait and ping. Theme 49: who holds it?"""
import json
import os
import signal
import time

from harness import *  # noqa
import harness


def theme_49_who_names_holder_lease_fence_and_queue():
    first = holder('orders:nightly', '-t', '20s', '-m', 'month end')
    second = start('run', 'orders:nightly', '--', 'true')
    until_waiting('orders:nightly')
    done = dibs('who', 'orders:nightly')
    equal(done.code, 0, done)
    contains(done.out, 'orders:nightly  held')
    contains(done.out, 'pid %d "cat"' % first.pid)
    contains(done.out, 'reason   month end')
    contains(done.out, 'of 20.0s')
    contains(done.out, '1 waiting')
    contains(done.out, 'pid %d "true"' % second.pid)
    end_holder(first)
    finish(second)
    done = dibs('who', 'orders:nightly')
    equal(done.code, 1)
    contains(done.out, 'free')


def theme_49_who_json_has_the_promised_shape():
    first = holder('shape', '-m', 'why')
    waiter = start('run', 'shape', '--', 'true')
    until_waiting('shape')
    got = who('shape')
    equal(sorted(got), sorted(['v', 'name', 'kind', 'state', 'holder', 'since', 'held_ms',
                               'lease_ms', 'ttl_ms', 'renewals', 'fence', 'fence_text',
                               'holders', 'waiting', 'queue']))
    equal((got['v'], got['name'], got['kind'], got['state']), (1, 'shape', 'lock', 'held'))
    equal(sorted(got['holder']), ['cmd', 'host', 'id', 'pid', 'reason'])
    equal((got['holder']['pid'], got['holder']['cmd'], got['holder']['reason']),
          (first.pid, 'cat', 'why'))
    equal(got['holder']['host'], os.uname().nodename)
    equal([(w['pos'], w['pid']) for w in got['queue']], [(1, waiter.pid)])
    assert got['queue'][0]['waited_ms'] >= 0
    assert 0 < got['lease_ms'] <= 30000
    assert got['since'].endswith('Z')
    end_holder(first)
    finish(waiter)
    free = who('shape')
    equal((free['state'], free['holder'], free['since'], free['queue']),
          ('free', None, None, []))


def a_name_that_is_not_utf_8_is_given_in_hex():
    name = b'caf\xe9'
    process = start('run', name, '--', 'cat', stdin=__import__('subprocess').PIPE)
    until(lambda: json.loads(dibs('who', '--json', name).out)['state'] == 'held', 'held')
    got = json.loads(dibs('who', '--json', name).out)
    equal((got['name'], got['name_hex']), ('caf?', name.hex()))
    end_holder(process)


def status_is_a_table():
    first = holder('table:one')
    second = holder('table:two')
    waiter = start('run', 'table:two', '--', 'true')
    until_waiting('table:two')
    lines = dibs('status', 'table:*').out.splitlines()
    equal(lines[0].split(), ['NAME', 'KIND', 'STATE', 'HOLDER', 'HELD', 'LEASE', 'FENCE',
                             'WAIT'])
    equal([line.split()[:3] for line in lines[1:]],
          [['table:one', 'lock', 'held'], ['table:two', 'lock', 'held']])
    contains(lines[1], ':%d cat' % first.pid)
    equal(lines[2].split()[-1], '1')
    equal(dibs('ls', '--waiting', 'table:*').out.splitlines()[1].split()[0], 'table:two')
    equal([line.split()[0] for line in
           dibs('status', '--sort', 'wait', 'table:*').out.splitlines()[1:]],
          ['table:two', 'table:one'])
    end_holder(first)
    end_holder(second)
    finish(waiter)


def status_json_is_one_object_a_line():
    held = [holder('many:%d' % n) for n in range(3)]
    rows = [json.loads(line) for line in
            dibs('status', '--json', '--held', 'many:*').out.splitlines()]
    equal(sorted(row['name'] for row in rows), ['many:0', 'many:1', 'many:2'])
    for process in held:
        end_holder(process)


def status_without_a_match_gives_1():
    done = dibs('status', 'nothing-like-this')
    equal((done.code, done.out), (1, ''))


def looking_changes_nothing():
    before = harness.server.ask('DBSIZE')
    dibs('who', 'never-seen')
    dibs('status')
    dibs('wait', 'never-seen')
    equal(harness.server.ask('DBSIZE'), before)


def wait_free_ends_when_it_is_free():
    other = holder('wanted')
    waiter = start('wait', 'wanted')
    equal(dibs('wait', '-w', '300ms', 'wanted').code, 75)
    equal(dibs('wait', '-w', '0', 'wanted').code, 75)
    assert waiter.poll() is None
    end_holder(other)
    equal(finish(waiter, 3).code, 0)
    equal(dibs('wait', 'wanted').code, 0)


def wait_held_ends_when_somebody_has_it():
    waiter = start('wait', '--held', 'leader')
    equal(dibs('wait', '--held', '-w', '200ms', 'leader').code, 75)
    other = holder('leader')
    equal(finish(waiter, 3).code, 0)
    end_holder(other)


def wait_takes_no_place_in_the_queue():
    other = holder('polite')
    waiter = start('wait', 'polite')
    equal(dibs('wait', '-w', '200ms', 'polite').code, 75)
    equal(who('polite')['waiting'], 0)
    waiter.kill()
    end_holder(other)


def ping_counts_and_measures():
    done = dibs('ping', '-c', '3', '-i', '10ms')
    equal(done.code, 0, done)
    lines = done.out.splitlines()
    equal(lines[0], 'PING ' + harness.server.url)
    for n in (1, 2, 3):
        contains(lines[n], 'seq=%d time=' % n)
    equal(lines[5], '3 sent, 3 answered')
    contains(lines[6], 'min/avg/max')


def ping_json_has_a_line_for_each_and_a_sum():
    rows = [json.loads(line) for line in
            dibs('ping', '--json', '-c', '2', '-i', '10ms').out.splitlines()]
    equal([row.get('seq') for row in rows], [1, 2, None])
    equal((rows[2]['sent'], rows[2]['answered']), (2, 2))


def ping_of_nobody_gives_69():
    done = dibs('ping', '-c', '1', '-u', 'unix:///nowhere/socket', '--connect-timeout',
                '200ms')
    equal(done.code, 69, done)


def ping_shows_its_figures_when_interrupted():
    process = start('ping', '-i', '20ms')
    process.stdout.readline()
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    done = finish(process)
    equal(done.code, 0)
    contains(done.out, 'answered')


def wrong_password_gives_77_and_the_right_one_from_everywhere_works():
    locked = harness.Server('--requirepass', 'geheim')
    try:
        equal(dibs('who', '-u', locked.url, 'x').code, 77)
        done = dibs('who', '-u', locked.url, 'x', env={'DIBS_PASSWORD': 'falsch'})
        equal(done.code, 77, done)
        lacks(done.err, 'falsch')
        equal(dibs('who', '-u', locked.url, 'x', env={'DIBS_PASSWORD': 'geheim'}).code, 1)
        equal(dibs('who', '-u', locked.url, 'x', env={'REDISCLI_AUTH': 'geheim'}).code, 1)
        with open(os.path.join(locked.directory, 'word'), 'w') as f:
            f.write('geheim\n')
        equal(dibs('who', '-u', locked.url, '--pass-file', f.name, 'x').code, 1)
        with_password = locked.url.replace('unix://', 'unix://:geheim@')
        done = dibs('run', 'x', '--', 'sh', '-c', 'echo $DIBS_URL; "$DIBS" who y',
                    env={'DIBS_URL': with_password})
        equal(done.code, 1, done)
        lacks(done.out + done.err, 'geheim')
    finally:
        locked.stop()


def an_acl_that_forbids_gives_77_and_names_what():
    harness.server.ask('ACL', 'SETUSER', 'weak', 'on', '>pw', '~other:*', '+@all', '&*')
    done = dibs('run', '--user', 'weak', 'x', '--', 'true', env={'DIBS_PASSWORD': 'pw'})
    equal(done.code, 77, done)


tests(dict(globals()))
