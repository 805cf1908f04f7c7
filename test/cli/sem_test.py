#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dibs sem: semaphores that are set up, used by tokens, looked at and removed."""
import json
import subprocess
from concurrent.futures import ThreadPoolExecutor

from harness import *  # noqa


def _mistake(*words, says):
    done = dibs(*words)
    equal((done.code, done.out), (64, ''), done)
    contains(done.err, says)


def set_makes_it_or_changes_the_number_and_show_tells_it():
    done = dibs('sem', 'show', 'made:new')
    equal((done.code, done.out), (66, ''), done)
    contains(done.err, 'dibs sem set made:new N')
    for number in ('4', '4', '6', '2'):
        done = dibs('sem', 'set', 'made:new', number)
        equal((done.code, done.out, done.err), (0, number + '\n', ''), done)
    token = dibs('acquire', '--take', '1', '--no-renew', 'made:new').out.strip()
    equal(dibs('sem', 'show', 'made:new').out, 'made:new  1 free of 2\n')
    equal(json.loads(dibs('sem', 'show', '--json', 'made:new').out)['used'], 1)
    rest = dibs('acquire', '--take', 'all', '--no-renew', '-q', 'made:new').out.strip()
    equal(dibs('sem', 'show', 'made:new').out, 'made:new  0 free of 2\n')
    refused(dibs('run', '-n', '--take', 'all', 'made:new', 'true').code, 75)
    for each in (token, rest):
        equal(dibs('release', each).code, 0)
    equal(dibs('run', '--take', 'all', 'made:new', '--', 'sh', '-c', 'echo $DIBS_PERMITS').out,
          '2\n')


def init_prints_what_is_free_and_may_be_repeated():
    equal((dibs('sem', 'init', 'pool', '4').out, dibs('sem', 'init', 'pool', '4').code),
          ('4\n', 0))
    done = dibs('sem', 'init', 'pool', '5')
    equal((done.code, done.out), (65, ''), done)
    contains(done.err, 'pool has 4 permits already; "dibs sem set pool 5"')
    equal(who('pool')['limit'], 4)


def resize_prints_what_is_free_and_knows_only_what_there_is():
    done = dibs('sem', 'resize', 'nothing', '3')
    equal(done.code, 66, done)
    contains(done.err, 'dibs sem set nothing 3')
    dibs('sem', 'init', 'size', '4')
    token = dibs('sem', 'acquire', '--no-renew', '--take', '3', 'size').out.strip()
    equal(dibs('sem', 'resize', 'size', '5').out, '2\n')
    equal(dibs('sem', 'resize', 'size', '2').out, '0\n')
    equal((who('size')['used'], who('size')['limit']), (3, 2))
    equal(dibs('sem', 'release', token).code, 0)
    equal(dibs('sem', 'release', token).code, 79)


def acquire_takes_one_and_prints_a_token():
    dibs('sem', 'init', 'one', '1')
    token = dibs('sem', 'acquire', '--no-renew', 'one').out.strip()
    done = dibs('sem', 'acquire', '-n', 'one')
    refused((done.code, done.out), (75, ''), done)
    contains(done.err, '1 of 1 permit held')
    equal(dibs('sem', 'renew', token).code, 0)
    equal(dibs('sem', 'release', token).code, 0)
    equal(dibs('sem', 'acquire', '-j', '2', '-n', 'made').code, 0)
    equal(dibs('sem', 'acquire', '-n', 'unmade').code, 66)


def drain_takes_all_that_are_free():
    dibs('sem', 'init', 'drained', '5')
    first = dibs('sem', 'acquire', '--no-renew', '--take', '2', 'drained').out.strip()
    got = json.loads(dibs('sem', 'drain', '--no-renew', '--json', 'drained').out)
    equal(got['units'], 3)
    refused(dibs('sem', 'drain', 'drained').code, 75)
    equal(dibs('release', got['token']).code, 0)
    equal(who('drained')['used'], 2)
    dibs('release', first)


def _crowd(name, size):
    """`size` leases, more than an inspection shows."""
    def take(_):
        return dibs('acquire', '-q', '--no-renew', '-t', '10m', '--take', '1', name).code
    with ThreadPoolExecutor(4) as pool:
        equal(set(pool.map(take, range(size))), {0})
    equal(who(name)['used'], size)


def break_ends_all_leases_of_a_crowd_and_spares_those_that_come_next():
    dibs('sem', 'set', 'crowd', '104')
    _crowd('crowd', 104)
    next_one = start('run', '--take', '1', 'crowd', '--', 'cat', stdin=subprocess.PIPE)
    until_waiting('crowd')
    equal(dibs('break', '-q', '--yes', 'crowd').code, 0)
    equal([h['pid'] for h in who('crowd')['holders']], [next_one.pid])
    equal(end_holder(next_one).code, 0)


def break_of_a_fence_beyond_those_that_are_shown_says_that_it_is_not_known():
    dibs('sem', 'set', 'far', '102')
    _crowd('far', 101)
    last = json.loads(dibs('acquire', '-q', '--json', '--take', '1', '-t', '10m', 'far').out)
    done = dibs('break', '--yes', '--fence', last['fence_text'], 'far')
    equal(done.code, 81, done)
    contains(done.err, 'far has 102 holders, of which only 100 are known')
    equal(who('far')['used'], 102)


def ls_shows_semaphores_only():
    dibs('sem', 'init', 'l:sem', '2')
    other = holder('l:lock')
    lines = dibs('sem', 'ls', 'l:*').out.splitlines()
    equal([line.split()[:4] for line in lines[1:]], [['l:sem', 'semaphore', '0/2', 'used']])
    end_holder(other)


def rm_forgets_what_nobody_uses():
    dibs('sem', 'init', 'old', '2')
    token = dibs('sem', 'acquire', '--no-renew', 'old').out.strip()
    equal(dibs('sem', 'rm', 'old').code, 75)
    dibs('release', token)
    equal(dibs('sem', 'rm', 'old').code, 0)
    equal(dibs('sem', 'rm', 'old').code, 0)
    equal(dibs('status', '--exit-code', 'old').code, 1)


def something_else_under_the_name_gives_65():
    other = holder('mutex')
    for words in (['init', 'mutex', '2'], ['resize', 'mutex', '2'], ['rm', 'mutex'],
                  ['acquire', '-j', '2', 'mutex'], ['drain', 'mutex']):
        done = dibs('sem', *words)
        equal(done.code, 65, (words, done))
    end_holder(other)


def mistakes_give_64():
    _mistake('sem', says='missing')
    _mistake('sem', 'sett', 'x', '3', says='did you mean "dibs sem set"?')
    _mistake('sem', 'aquire', 'x', says='no "dibs sem aquire"')
    _mistake('sem', 'init', 'x', says='dibs sem init NAME N')
    _mistake('sem', 'init', 'x', 'many', says='"many": allowed are 0 to 1000000000')
    _mistake('sem', 'init', 'x', '-1', says='-1')
    _mistake('sem', 'rm', 'x', 'y', says='"y"')
    _mistake('sem', 'drain', '--take', '2', 'x', says='--take belongs to acquire')
    _mistake('sem', 'release', 'nonsense', says='token')


tests(dict(globals()))
