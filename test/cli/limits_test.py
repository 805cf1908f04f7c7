#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every subcommand that asks a server ends at its limit, with a server that is stopped: those that
wait at -w, all others at --connect-timeout. Only for ./check --all; what is late here is late by
seconds: the limit that a command would use instead is far longer."""
import os
import re
import struct
import threading

from harness import *  # noqa
import harness

# What ends it, beside the limit: the close of the client, and what a slow machine takes.
LATE = 3.5
LIMIT = 1.0

# -w ends these; without it they would wait for 30 s here.
WAITING = [
    ('run', '-w', '1s', 'x', '--', 'true'),
    ('run', '-s', '-w', '1s', 'x', '--', 'true'),
    ('run', '--write', '-w', '1s', 'x', '--', 'true'),
    ('run', '-j', '2', '-w', '1s', 'x', '--', 'true'),
    ('run', '--multi', 'x,y', '-w', '1s', '--', 'true'),
    ('flock', '-w', '1s', 'x', 'true'),
    ('elect', 'run', '-w', '1s', 'x', '--', 'true'),
    ('elect', 'observe', '-w', '1s', 'x'),
    ('acquire', '-w', '1s', 'x'),
    ('acquire', '-s', '-w', '1s', 'x'),
    ('acquire', '--take', '1', '-w', '1s', 'x'),
    ('wait', '-w', '1s', 'x'),
    ('latch', 'wait', '-w', '1s', 'x'),
    ('barrier', 'wait', '--parties', '2', '-w', '1s', 'x'),
    ('rate', 'take', '-w', '1s', 'x'),
    ('wait', '-w', '1s', 'x'),
    ('wait', '--held', '-w', '1s', 'x'),
    ('wait', '--leader', '-w', '1s', 'x'),
    ('wait', '--zero', '-w', '1s', 'x'),
]

# --connect-timeout ends these; its default is 5 s.
ASKING = [
    ('run', '-n', 'x', '--', 'true'),
    ('flock', '-n', 'x', 'true'),
    ('acquire', '-n', 'x'),
    ('elect', 'run', '-n', 'x', '--', 'true'),
    ('elect', 'observe', '-n', 'x'),
    ('break', '--yes', 'x'),
    ('sem', 'set', 'x', '3'),
    ('sem', 'set', 'x', '3'),
    ('acquire', '--take', 'all', 'x'),
    ('sem', 'rm', 'x'),
    ('latch', 'set', 'x', '3'),
    ('latch', 'down', 'x'),
    ('latch', 'show', 'x'),
    ('latch', 'rm', 'x'),
    ('barrier', 'reset', 'x'),
    ('barrier', 'show', 'x'),
    ('rate', 'set', 'x', '3', '1s'),
    ('rate', 'take', '-n', 'x'),
    ('rate', 'show', 'x'),
    ('rate', 'rm', 'x'),
    ('status',),
    ('status', '--graph'),
    ('who', 'x'),
    ('wait', '-w', '0', 'x'),
    ('latch', 'wait', '-w', '0', 'x'),
    ('ping', '--count', '1'),
    ('doctor',),
    ('history',),
    ('top', '--json'),
    ('metrics', '--once'),
]

# These ask no server that may be stopped, or run until they are ended.
OTHERS = {'acl', 'completion', 'help', 'local', 'sandbox', 'web'}


def _url_with(connect_timeout):
    return harness.server.url + '?connect_timeout=' + connect_timeout


def _run_all(rows, url):
    """All at once: they sleep."""
    late = []

    def one(words):
        done = dibs(*words, env={'DIBS_URL': url}, timeout=60)
        if done.seconds > LIMIT + LATE or done.code != 69:
            late.append('%s: %r' % (' '.join(words), done))

    threads = [threading.Thread(target=one, args=(words,)) for words in rows]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not late, '\n'.join(late)


def commands_that_wait_end_at_their_limit_with_a_stopped_server():
    with harness.server.paused():
        _run_all(WAITING, _url_with('30s'))


def commands_that_do_not_wait_end_at_connect_timeout_with_a_stopped_server():
    token = dibs('acquire', '-t', '60s', 'token').out.strip()
    with harness.server.paused():
        _run_all([*ASKING, ('renew', token), ('release', token)], _url_with('1s'))
        _run_all([(words[0], '--connect-timeout', '1s', *words[1:]) for words in ASKING
                  if words[0] in ('who', 'status', 'ping', 'history')], harness.server.url)


def commands_end_at_their_limit_when_the_server_falls_silent_while_they_wait():
    proxy = Proxy(harness.server)
    held = holder('q', '-t', '60s')
    dibs('latch', 'set', 'l', '1')
    limit = ('-w', '10s')
    rows = [('run', *limit, 'q', '--', 'true'), ('acquire', *limit, 'q'),
            ('elect', 'run', *limit, 'q', '--', 'true'),
            ('elect', 'observe', *limit, 'e'),
            ('latch', 'wait', *limit, 'l'), ('barrier', 'wait', '--parties', '2', *limit, 'b'),
            ('wait', *limit, 'q'), ('wait', '--zero', *limit, 'l'),
            ('wait', '--leader', *limit, 'e')]
    waiting = [start(*words, env={'DIBS_URL': proxy.url + '?connect_timeout=30s'})
               for words in rows]
    until_waiting('q', 3)
    proxy.hole()
    ends = time.monotonic() + 10 + LATE
    late = []
    for process in waiting:
        done = finish(process, timeout=60)
        if time.monotonic() > ends:
            late.append('%s: %r' % (process.args, done))
            ends = time.monotonic() + LATE
    assert not late, '\n'.join(late)
    proxy.stop()
    end_holder(held)


def a_wall_clock_that_is_set_while_a_wait_ends_makes_it_no_longer():
    """The view of the wait has a request without a reply then, which may last for the hour."""
    path = temporary_file()
    with open(path, 'wb') as file:
        file.write(struct.pack('qq', 86400000, 0))        # struct clock_shim: a day ahead
    proxy = Proxy(harness.server)
    held = holder('q', '-t', '60s')
    process = start('run', '--progress', 'plain', '-w', '3s', 'q', '--', 'true',
                    env=preloading(os.environ['CLOCK_SHIM'], DIBS_TEST_CLOCK=path,
                                   DIBS_URL=proxy.url + '?connect_timeout=1h'))
    contains(process.stderr.readline(), 'waiting for q')
    proxy.hole()
    finish(process)
    proxy.stop()
    end_holder(held)


def every_subcommand_is_in_one_list():
    listed = {words[0] for words in WAITING + ASKING} | {'renew', 'release'} | OTHERS
    known = set(re.findall(r'^  ([a-z]+)  ', dibs('--help').out, re.M))
    assert known, 'no subcommands in --help'
    assert known <= listed, sorted(known - listed)


tests(dict(globals()))
