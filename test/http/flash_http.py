#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The flash sale over HTTP, with real requests to real server processes.

    flash_http.py DIBS FLASH_HTTP       starts itself again inside `dibs sandbox`

Speaks TAP.
"""
import asyncio
import collections
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

LONG = 30          # seconds for what surely comes
VISITORS = 40      # connections at a time


PROMISE_BROKEN_EXIT = 86      # test/lib/promise.h


class Failed(Exception):
    pass


def promise_kept(is_kept, what):
    """More was sold than there is: no busy machine is an excuse for that."""
    if not is_kept:
        print(f'# BROKEN PROMISE: {what}', flush=True)
        sys.exit(PROMISE_BROKEN_EXIT)


def check(is_so, what):
    if not is_so:
        raise Failed(what)


class Shop:
    """flash_http with its server processes."""

    def __init__(self, program, *options):
        self.child = subprocess.Popen([program, *options], stdout=subprocess.PIPE,
                                      stdin=subprocess.DEVNULL, text=True)
        self.url = self.child.stdout.readline().strip()
        check(self.url.startswith('http://127.0.0.1:'), f'no address but {self.url!r}')
        self.port = int(self.url.rsplit(':', 1)[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.child.poll() is None:
            self.child.terminate()
            code = self.child.wait(LONG)
            if sys.exc_info()[0] is None:
                check(code == 0, f'flash_http ended with {code}')
        self.child.stdout.close()

    def ask(self, path, method='GET'):
        return asyncio.run(one_visit(self.port, path, method))

    def detail(self):
        code, answer = self.ask('/detail')
        check(code == 200, f'/detail answers {code}')
        return answer

    def sell(self, version, requests, items, on_answer=None):
        """Sends all requests; returns how many each process has sold, and what failed."""
        check(self.ask(f'/reset?items={items}')[1]['stock'] == items, 'no reset')
        sold, faults = collections.Counter(), []

        def take(code, answer):
            if code != 200:
                faults.append((code, answer))
            elif answer['sold']:
                sold[answer['server']] += 1
            if on_answer:
                on_answer(sold)
        asyncio.run(crowd(self.port, f'/{version}/seckill', requests, take, faults))
        return sold, faults


async def talk(streams, path, method='GET'):
    """One request on an open connection; returns (code, what the JSON says)."""
    reader, writer = streams
    writer.write(f'{method} {path} HTTP/1.1\r\nHost: shop\r\nContent-Length: 0\r\n\r\n'.encode())
    head = (await asyncio.wait_for(reader.readuntil(b'\r\n\r\n'), LONG)).decode()
    size = int(re.search(r'(?i)^content-length: *(\d+)', head, re.M).group(1))
    return int(head.split()[1]), json.loads(await reader.readexactly(size))


async def one_visit(port, path, method):
    streams = await asyncio.open_connection('127.0.0.1', port)
    try:
        return await talk(streams, path, method)
    finally:
        streams[1].close()


async def crowd(port, path, requests, take, faults):
    left = requests

    async def visitor():
        nonlocal left
        streams = None
        while left > 0:
            left -= 1
            try:
                if streams is None:
                    streams = await asyncio.open_connection('127.0.0.1', port)
                take(*await talk(streams, path))
            except (OSError, asyncio.IncompleteReadError) as fault:
                faults.append((0, repr(fault)))          # its server was killed
                streams = None
        if streams is not None:
            streams[1].close()
    await asyncio.gather(*(visitor() for _ in range(VISITORS)))


# ---- the cases: each gets the program ----

def with_the_lock_exactly_the_stock_is_sold(program):
    with Shop(program, '--think-us', '200') as shop:
        sold, faults = shop.sell('v1', 600, 200)
        now = shop.detail()
    check(not faults, f'{faults[:3]}')
    promise_kept(now['oversold'] == 0 and sum(sold.values()) <= 200, f'{now} {dict(sold)}')
    check(sum(sold.values()) == 200 and len(sold) == 2, f'sold by process: {dict(sold)}')
    check((now['stock'], now['orders'], now['oversold']) == (0, 200, 0), f'{now}')


def without_a_lock_more_is_sold_than_there_is(program):
    with Shop(program, '--think-us', '1000') as shop:
        sold, faults = shop.sell('v2', 600, 100)
        now = shop.detail()
    check(not faults, f'{faults[:3]}')
    check(sum(sold.values()) == now['orders'] and now['oversold'] > 0, f'{now}')


def a_mutex_of_one_process_is_not_enough_for_two(program):
    with Shop(program, '--think-us', '1000') as shop:
        sold, faults = shop.sell('v3', 400, 100)
        now = shop.detail()
    check(not faults and len(sold) == 2, f'{faults[:3]} {dict(sold)}')
    check(now['oversold'] > 0, f'{now}')


def a_mutex_of_one_process_is_enough_for_one(program):
    with Shop(program, '--think-us', '1000', '--processes', '1') as shop:
        sold, faults = shop.sell('v3', 200, 100)
        now = shop.detail()
    check(not faults and sum(sold.values()) == 100, f'{faults[:3]} {dict(sold)}')
    check((now['stock'], now['orders']) == (0, 100), f'{now}')


def a_killed_process_costs_one_lease_and_no_lamp(program):
    killed = []

    def kill_once(sold):
        if not killed and len(sold) == 2 and sum(sold.values()) >= 50:
            killed.append(next(iter(sold)))
            os.kill(killed[0], signal.SIGKILL)

    with Shop(program, '--think-us', '2000', '--ttl-ms', '1000') as shop:
        began = time.monotonic()
        shop.sell('v1', 600, 300, kill_once)
        took = time.monotonic() - began
        now = shop.detail()
    promise_kept(now['oversold'] == 0, f'{now}')
    check(killed, 'nobody was killed')
    check((now['stock'], now['orders'], now['oversold']) == (0, 300, 0), f'{now}')
    check(took < LONG, f'{took} s')


def whoever_waits_at_the_end_is_answered(program):
    """SIGTERM while the queue is full of visitors: flash_http ends by itself with 0."""
    with Shop(program, '--think-us', '20000') as shop:
        def stop_once(sold):
            if sum(sold.values()) == 5:
                shop.child.terminate()
        sold, faults = shop.sell('v1', 200, 200, stop_once)
        check(shop.child.wait(LONG) == 0, f'exit {shop.child.returncode}')
    check(sum(sold.values()) < 200 and faults, f'{dict(sold)}')


def other_pages_and_methods(program):
    with Shop(program, '--processes', '1') as shop:
        check(shop.ask('/reset?items=2', 'POST')[1]['items'] == 2, 'POST /reset')
        check(shop.ask('/v1/seckill', 'POST')[1]['sold'], 'POST /v1/seckill')
        check(shop.ask('/v2/seckill')[1]['sold'], 'GET /v2/seckill')
        check(not shop.ask('/v3/seckill')[1]['sold'], 'sold out')
        check(shop.ask('/nowhere')[0] == 404, 'a page that is not there')
        check(shop.detail() == {'items': 2, 'stock': 0, 'orders': 2, 'oversold': 0}, 'detail')


def ab_finds_no_failed_request(program):
    if shutil.which('ab') is None:
        return 'SKIP ab is not installed'
    with Shop(program) as shop:
        shop.ask('/reset?items=500')
        done = subprocess.run(['ab', '-q', '-l', '-c', '100', '-n', '2000',
                               f'{shop.url}/v1/seckill'], text=True, capture_output=True)
        now = shop.detail()
    promise_kept(now['oversold'] == 0, f'{now}')
    check(done.returncode == 0, done.stderr)
    check(re.search(r'Failed requests:\s+0\b', done.stdout), done.stdout)
    check('Non-2xx' not in done.stdout, done.stdout)
    check((now['stock'], now['orders'], now['oversold']) == (0, 500, 0), f'{now}')
    return ''


CASES = [with_the_lock_exactly_the_stock_is_sold, without_a_lock_more_is_sold_than_there_is,
         a_mutex_of_one_process_is_not_enough_for_two,
         a_mutex_of_one_process_is_enough_for_one,
         a_killed_process_costs_one_lease_and_no_lamp, whoever_waits_at_the_end_is_answered,
         other_pages_and_methods, ab_finds_no_failed_request]


def inside(program):
    failures = 0
    print(f'1..{len(CASES)}', flush=True)
    for number, case in enumerate(CASES, 1):
        try:
            note = case(program) or ''
            print(f'ok {number} - {case.__name__}' + (f' # {note}' if note else ''))
        except (Failed, OSError, asyncio.TimeoutError, subprocess.TimeoutExpired) as fault:
            failures += 1
            print(f'not ok {number} - {case.__name__}')
            for line in str(fault).splitlines():
                print(f'# {line}')
        sys.stdout.flush()
    return 1 if failures else 0


def main():
    if sys.argv[1] == '--inside':
        return inside(sys.argv[2])
    dibs, program = (os.path.abspath(path) for path in sys.argv[1:3])
    return subprocess.run([dibs, 'sandbox', '--', sys.executable, os.path.abspath(__file__),
                           '--inside', program], stdin=subprocess.DEVNULL).returncode


if __name__ == '__main__':
    sys.exit(main())
