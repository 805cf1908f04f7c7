#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Several servers on the command line: a quorum by -u again and again, or by one text."""
from harness import *  # noqa

def _urls(first=''):
    return [s.url + (first if i == 0 else '') for i, s in enumerate(quorum)]


def _with_u(urls):
    return [word for url in urls for word in ('-u', url)]


def _keys(number):
    return quorum[number].ask('KEYS', '*')


def u_again_and_again_is_a_quorum():
    done = dibs('run', *_with_u(_urls('?prefix=app')), 'x', '--', 'sh', '-c', 'echo $DIBS_URL',
                env={'DIBS_URL': None})
    equal((done.code, done.out), (0, ' '.join(_urls('?prefix=app')) + '\n'), done)
    for number in range(3):
        contains(_keys(number), 'app:m:{x}')


def acquire_says_that_a_lock_on_a_quorum_has_no_token():
    for more in ([], ['--no-renew'], ['--for-pid', str(os.getpid())]):
        done = dibs('acquire', *_with_u(_urls()), *more, 'tokenless')
        equal((done.code, done.out), (81, ''), (more, done))
        contains(done.err, 'tokenless: ')
        contains(done.err, 'has no token; dibs run')
        done = dibs('run', *_with_u(_urls()), '-n', 'tokenless', '--', 'true')
        equal(done.code, 0, done)                                       # it was given back


def blanks_and_commas_part_servers():
    for separator in (' ', ',', ' , ', '\n'):
        done = dibs('run', 'y', '--', 'true', env={'DIBS_URL': separator.join(_urls())})
        equal(done.code, 0, done)
        done = dibs('run', '-u', separator.join(_urls()), 'y', '--', 'true')
        equal(done.code, 0, done)
    contains(_keys(2), 'dibs:m:{y}')


def db_and_prefix_are_for_all():
    done = dibs('run', *_with_u(_urls()), '--db', '3', '--prefix', 'p', 'z', '--', 'true')
    equal(done.code, 0, done)
    lacks(_keys(1), 'p:m:{z}')
    # The command ends when a majority has answered: the third server may never be asked.
    written = [s.ask('INFO', 'keyspace') for s in quorum]
    assert sum('db3:keys=' in keyspace for keyspace in written) >= 2, written


def a_command_inside_reaches_the_same_servers():
    done = dibs('run', *_with_u(_urls()), '--prefix', 'inner', 'outer', '--', 'sh', '-c',
                'env -u DIBS_HELD "$DIBS" run -n outer -- true; echo $?;'
                '"$DIBS" run -n other -- echo fine',
                env={'DIBS_URL': None})
    contains(done.out, '75\nfine\n')


def passwords_of_the_environment_still_serve_the_command_inside():
    for number, s in enumerate(quorum):
        s.ask('ACL', 'SETUSER', 'u', 'on', '>geheim%d' % number, '~*', '+@all', '&*')
    urls = [s.url.replace('//', '//u:geheim%d@' % number) for number, s in enumerate(quorum)]
    done = dibs('run', 'a', '--', 'sh', '-c', '"$DIBS" run -n b -- echo fine',
                env={'DIBS_URL': ' '.join(urls)})
    equal((done.code, done.out), (0, 'fine\n'), done)
    done = dibs('run', 'a', '--', 'sh', '-c', 'echo $DIBS_URL', env={'DIBS_URL': ' '.join(urls)})
    equal(done.code, 0, done)
    lacks(done.out + done.err, 'geheim')


def a_lock_is_broken_at_all_servers_at_once():
    holder = start('run', *_with_u(_urls()), 'stuck', '--', 'sleep', '600')
    until(lambda: dibs('run', *_with_u(_urls()), '-n', 'stuck', '--', 'true').code == 75,
          'it is held')
    done = dibs('break', *_with_u(_urls()), '--yes', 'stuck')
    equal(done.code, 0, done)
    contains(done.err, 'broke stuck')
    equal(finish(holder).code, 79)
    equal(dibs('run', *_with_u(_urls()), '-w', '20', 'stuck', '--', 'true').code, 0)


def replicas_on_a_quorum_are_refused_by_the_name_of_the_option():
    done = dibs('run', *_with_u(_urls()), '--replicas', '1', 'acked', '--', 'true')
    equal(done.code, 64, done)
    contains(done.err, 'acked: --replicas: ')
    lacks(done.err, 'min_replicas')


def what_is_no_quorum_is_refused():
    done = dibs('ping', *_with_u(_urls()[:2]))
    equal(done.code, 78, done)
    contains(done.err, '3 to 15 servers, an odd number; the URLs name 2')
    done = dibs('ping', *_with_u([_urls()[0]] * 3))
    equal(done.code, 78, done)
    contains(done.err, 'server 2: the same server as server 1')
    done = dibs('ping', *_with_u(['redis://h%d' % n for n in range(16)]))
    equal(done.code, 64, done)
    contains(done.err, 'at most 15 servers')
    done = dibs('ping', '--local', '-u', 'redis://h')
    equal(done.code, 64, done)


def _stopped(numbers, *words):
    for number in numbers:
        quorum[number].pause()
    try:
        return dibs(*words, *_with_u(_urls()), '--connect-timeout', '1s')
    finally:
        for number in numbers:
            quorum[number].resume()


def a_minority_of_servers_never_says_that_a_name_is_free():
    for numbers in ((0, 1), (1, 2)):
        for words in (('who', 'nobody-has-it'), ('status',), ('wait', '-w', '2', 'nobody-has-it')):
            done = _stopped(numbers, *words)
            equal(done.code, 69, (words, done))
            for number in numbers:
                contains(done.err, quorum[number].url[len('redis://'):])
            lacks(done.out, 'free')


def a_majority_that_answers_warns_of_the_others():
    for words in (('who', 'nobody-has-it'), ('status', '--all')):
        done = _stopped((1,), *words)
        equal(done.code in (0, 1), True, (words, done))
        contains(done.err, '1 of 3 servers did not answer')
        contains(done.err, quorum[1].url[len('redis://'):])


def a_wait_says_when_a_majority_can_be_asked_again():
    for number in (0, 1):
        quorum[number].pause()
    waiting = start('run', *_with_u(_urls()), '--degrade', 'wait', 'again', '--', 'echo', 'ran')
    line = waiting.stderr.readline()
    for number in (0, 1):
        quorum[number].resume()
    done = finish(waiting)
    contains(line, 'no server could be asked')
    equal((done.code, done.out), (0, 'ran\n'), done)
    contains(done.err, 'asked again')


def a_list_does_not_ask_a_server_that_has_just_been_silent():
    waiting = start('run', *_with_u(_urls()), 'listed', '--', 'sleep', '600')
    for server in quorum:
        until(lambda: 'listed' in server.ask('KEYS', '*'), 'each server has it')
    for number in range(3):
        done = _stopped((number,), 'status')
        equal(done.code, 0, (number, done))
        contains(done.out, 'listed')
    waiting.kill()


box = Sandbox('--quorum', '3')
quorum = box.servers
# ---- replicas ----

def replicas_that_do_not_have_the_grant_give_69_and_the_lock_back():
    # Without a limit: sentinels and replicas need rights that are not a client's.
    box = Sandbox('--sentinel', limit=None)
    try:
        env = {'DIBS_URL': box.url}
        for words in (['--replicas', '2'], ['--replicas', 'majority']):
            # A busy machine may acknowledge too late: then it is given back.
            until(lambda: dibs('run', *words, 'both', 'echo', 'yes', env=env).out == 'yes\n',
                  'the replicas have it: %s' % words, 60)
        done = dibs('run', '--replicas', '3', 'both', 'echo', 'no', env=env)
        refused((done.code, done.out), (69, ''), done)
        until(lambda: dibs('who', 'both', env=env).code == 1, 'it is free')
    finally:
        box.stop()


try:
    tests(dict(globals()))
finally:
    box.stop()
