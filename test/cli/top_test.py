#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dibs top: one table and JSON of real locks, what is refused, and what it says of no server."""
import json

from harness import *  # noqa
import harness

NASTY = 'bad:\x1b[2J\n\x07"\u202e'


def _lines(done):
    return done.out.splitlines()


def _reading(*words):
    return json.loads(dibs('top', '--json', *words).out)


def names_with_waiters_come_first():
    held = [holder('top:old'), holder('top:asked', '--reason', 'r')]
    waiters = [start('run', 'top:asked', '--', 'true') for _ in range(2)]
    until_waiting('top:asked', 2)
    lines = _lines(dibs('top'))
    assert re.match(r'2 held   2 waiting   oldest [\d.]+m?s   \d\d:\d\d:\d\d$', lines[0]), lines
    equal(lines[1].split(), ['NAME', 'KIND', 'HELD', 'BY', 'SINCE', 'LEASE', 'WAIT', 'OLDEST'])
    assert re.match(r'top:asked  lock  \S+ \(%d "cat"\) .* 2 +[\d.]+m?s$' % held[1].pid,
                    lines[2]), lines
    assert lines[3].startswith('top:old  '), lines
    lines = _lines(dibs('top', '--sort', 'held'))
    assert lines[2].startswith('top:old  '), lines
    equal(len(_lines(dibs('top', 'top:a*'))), 3)
    seen = _reading()
    equal((seen['up'], seen['held'], seen['waiting'], seen['names']), (True, 2, 2, 2))
    first = seen['locks'][0]
    equal((first['name'], first['class'], first['kind'], first['state'], first['waiting']),
          ('top:asked', 'top', 'lock', 'held', 2))
    equal((first['holder']['pid'], first['holder_count']), (held[1].pid, 1))
    assert 0 < first['lease_ms'] <= first['ttl_ms'] and first['fence'] > 0, first
    for process in waiters:
        process.terminate()
        finish(process)
    for process in held:
        end_holder(process)


def permits_and_readers_are_counted():
    equal(dibs('sem', 'init', 'top:sem', '4').code, 0)
    tokens = [dibs('sem', 'acquire', '--no-renew', 'top:sem').out.strip() for _ in range(2)]
    readers = [holder('top:rw', '-s')]
    readers.append(start('run', '-s', 'top:rw', '--', 'cat', stdin=subprocess.PIPE))
    until(lambda: len(who('top:rw')['holders']) == 2, 'two read')
    text = dibs('top', 'top:*').out
    contains(text, '2 of 4  2 holders')
    contains(text, '2 readers')
    end_holder(readers.pop())
    contains(dibs('top', 'top:rw').out, 'r ')
    end_holder(readers.pop())
    for token in tokens:
        dibs('sem', 'release', token)


def no_byte_of_a_name_reaches_the_terminal():
    token = dibs('acquire', '--no-renew', NASTY).out.strip()
    out = dibs('top', 'bad:*').out
    for byte in ('\x1b', '\x07', '\u202e'):
        lacks(out, byte)
    contains(out, 'bad:\\x1b[2J\\x0a\\x07"\\xe2\\x80\\xae')
    equal(_reading('bad:*')['locks'][0]['name'], NASTY)
    dibs('release', token)


def a_limit_says_how_many_are_not_shown():
    tokens = [dibs('acquire', '--no-renew', 'many:%d' % i).out.strip() for i in range(5)]
    done = dibs('top', '--limit', '2', 'many:*')
    equal((len(_lines(done)), done.code), (4, 0))
    contains(done.err, '3 more names')
    equal(len(_reading('--limit', '2', 'many:*')['locks']), 2)
    equal(_reading('--limit', '2', 'many:*')['held'], 5)
    for token in tokens:
        dibs('release', token)
    equal(dibs('top', 'many:*').code, 1)
    equal(dibs('top', '-a', 'many:*').code, 0)


def a_user_without_the_totals_sees_the_names():
    harness.server.ask('ACL', 'SETUSER', 'few', 'reset', 'on', '>few', '~*', '&*', '+@all',
                       '-zrange')
    token = dibs('acquire', '--no-renew', 'few:1').out.strip()
    url = 'unix://few:few@' + harness.server.socket
    seen = json.loads(dibs('top', '--json', env={'DIBS_URL': url}).out)
    equal((seen['clients'], seen['classes'], seen['held']), (None, [], 1))
    dibs('release', token)


def a_user_without_rights_and_a_server_that_is_gone_are_named():
    harness.server.ask('ACL', 'SETUSER', 'none', 'reset', 'on', '>none', '+ping', '+auth',
                       '+client')
    done = dibs('top', env={'DIBS_URL': 'unix://none:none@' + harness.server.socket})
    equal((done.code, done.out), (77, ''), done)
    done = dibs('top', '-u', 'unix:///nowhere', '--connect-timeout', '500ms')
    equal((done.code, done.out), (69, ''), done)


def options_out_of_range_are_refused():
    for words in (('--sort', 'size'), ('--limit', '0'), ('a', 'b')):
        equal(dibs('top', *words).code, 64, words)


tests(dict(globals()))
