#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dibs web over real locks: what it answers. web_page_test.py has the page."""
import urllib.error
import urllib.request

import harness
from dashboard import Web
from harness import *  # noqa


def _refusal(ask):
    try:
        ask()
    except urllib.error.HTTPError as refused:
        return refused.code
    return None


def _hex(name):
    return name.encode().hex()


def it_shows_what_real_processes_do():
    held = holder('orders:42', '--note', 'nightly')
    waiter = start('run', 'orders:42', '--', 'true')
    until_waiting('orders:42')
    with Web() as web:
        until(lambda: 'orders:42' in web.names(), 'listed')
        row = web.names()['orders:42']
        equal((row['held'], row['waiters'], row['kind']), (True, 1, 'lock'))
        contains(row['by'], str(held.pid))
        one = web.get('name?id=' + _hex('orders:42'))
        equal((one['holders'][0]['pid'], one['queue'][0]['pid']), (held.pid, waiter.pid))
        equal(one['holders'][0]['note'].startswith('nightly'), True, one)
        waits = web.get('waits')
        equal([(w['name'], w['queue'][0]['pid']) for w in waits], [('orders:42', waiter.pid)])
        equal('server' in [f['check'] for f in web.get('servers')], True)
        end_holder(held)
        finish(waiter)
        until(lambda: 'orders:42' not in web.names(), 'released')
    equal(web.code, 0)


def _refused_argument(web, request):
    try:
        web.open('/api/' + request)
    except urllib.error.HTTPError as e:
        return e.code, json.loads(e.read())['error']
    raise AssertionError('accepted: ' + request)


def a_wrong_argument_is_named_with_its_value():
    with Web() as web:
        for request, *says in (('name?id=zz', 'id: "zz"', 'hex digits'), ('name', 'id is missing'),
                               ('name?id=' + 'ab' * 513, 'id: "abab'), ('name?id=6', 'id: "6"'),
                               ('names?sort=size', 'sort: "size"', 'name, held, wait or lease'),
                               ('names?page=-1', 'page: "-1"'), ('names?page=', 'page: ""'),
                               ('names?page=1000001', 'page: "1000001"', '0 to 1000000'),
                               ('name?id=%22%3Cb%3E%0A', 'id: "')):
            code, error = _refused_argument(web, request)
            equal(code, 400, request)
            for part in says:
                contains(error, part)
        equal(len(web.get('names?sort=held&page=0')) > 0, True)
        equal(web.get('names?page=1000000')['rows'], [])


def requests_are_judged_before_they_are_answered():
    with Web() as web:
        page = web.open('/')
        policy = page.headers['Content-Security-Policy']
        contains(policy, "default-src 'none'; script-src 'self'")
        equal(_refusal(lambda: web.open('/', Host='evil.example')), 403)
        equal(web.open('/', Host='LocalHost:80').status, 200)
        equal(_refusal(lambda: web.open('/none')), 404)
        equal(_refusal(lambda: urllib.request.urlopen(web.address + '/', data=b'x')), 405)
    with Web('--token', 'correct-horse') as web:
        equal(_refusal(lambda: web.open('/')), 401)
        equal(_refusal(lambda: web.open('/?token=correct-hors')), 401)
        contains(web.open('/?token=correct-horse').headers['Set-Cookie'], 'HttpOnly')
        equal(web.open('/', Authorization='Bearer correct-horse').status, 200)
    done = dibs('web', '--listen', '0.0.0.0:0')
    equal(done.code, 64, done)
    contains(done.err, 'give --token or --tls-cert')
    contains(dibs('web', '--token', 'a b').err, '8 to 128 letters')
    with tempfile.NamedTemporaryFile() as empty:
        done = dibs('web', '--tls-cert', empty.name)
        equal(done.code, 64, done)
        contains(done.err, '--tls-cert needs --tls-key')
        done = dibs('web', '--listen', '127.0.0.1:0', '--tls-key', empty.name)
        equal(done.code, 64, done)
        contains(done.err, '--tls-key needs --tls-cert')
        done = dibs('web', '--tls-cert', empty.name, '--tls-key', empty.name)
        equal(done.code, 74, done)
        contains(done.err, 'it is empty')


def _overview(*words):
    """The first of a server that answered."""
    with Web(*words) as web, web.open('/api/events') as events:
        for line in events:
            state = json.loads(line[6:]) if line.startswith(b'data: ') else {}
            if state.get('up'):
                return state
    raise AssertionError('the events ended')


def totals_that_cannot_be_read_are_not_none():
    server = Server()
    server.ask('ACL', 'SETUSER', 'bob', 'on', 'nopass', '~*', '&*', '+@all', '-zrange')
    equal(_overview('-u', server.url)['clients'], 0)
    equal(_overview('-u', server.url, '--user', 'bob')['clients'], None)


def the_address_that_is_printed_can_be_opened():
    for given, printed in (('127.0.0.1:0', r'http://127\.0\.0\.1:[1-9]\d*/'),
                           ('127.0.0.2:0', r'http://127\.0\.0\.2:[1-9]\d*/'),
                           ('[::1]:0', r'http://\[::1\]:[1-9]\d*/'),
                           ('::1:0', r'http://\[::1\]:[1-9]\d*/')):
        if ':1' in given and not os.path.exists('/proc/net/if_inet6'):
            continue
        process = start('web', '--listen', given)
        said = process.stderr.readline()
        address = re.search(printed, said)
        assert address, said
        equal(urllib.request.urlopen(address.group()).status, 200)
        process.terminate()
        equal(finish(process).code, 0, said)
    done = dibs('web', '--listen', '127.0.0.1:')
    equal(done.code, 64, done)
    contains(done.err, 'ADDRESS:PORT is wanted')


def ten_thousand_names_are_paged_at_a_small_cost():
    dibs('acquire', '--no-renew', 'many:sample')
    done = harness.server.ask('EVAL', """
for _, key in ipairs(redis.call('KEYS', 'dibs:m:*many:sample*')) do
  local dump, left = redis.call('DUMP', key), redis.call('PTTL', key)
  for i = 1, 10000 do
    redis.call('RESTORE', (key:gsub('many:sample', 'many:' .. i)), left > 0 and left or 0, dump)
  end
end
return redis.call('DBSIZE')""", '0')
    equal(int(done[1:]) > 10000, True, done)
    with Web() as web:
        until(lambda: web.get('names?all=1')['count'] > 10000, 'walked')
        page = web.get('names?all=1&page=200&sort=name')
        equal((page['pages'], len(page['rows'])), (201, page['count'] - 10000))
        equal(len(web.get('names?all=1&q=many:9999')['rows']), 1)
    harness.server.ask('FLUSHALL')


tests(dict(globals()))
