#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test/peers/python/peer.py - redis-py's Lock behind the line protocol of ../PROTOCOL.md.

Debian's python3-redis suffices. The library renews nothing: a lock without a lease would never
end, and is not offered. Its script of a release works in a cluster, too. Option:
as=shipped, the library's own pause between two looks.
"""
import os
import queue
import struct
import sys
import threading
import time
from urllib.parse import unquote

import redis
from redis.cluster import ClusterNode, RedisCluster
from redis.exceptions import LockError
from redis.lock import Lock

IS_SHIPPED = 'as=shipped' in sys.argv[2:]
SLEEP = {} if IS_SHIPPED else {'sleep': 0.005}    # between two looks of who waits, seconds


class Worker:
    """One thread and the locks that it holds, the newest last."""

    def __init__(self, client, number, say):
        self.client, self.number, self.say = client, number, say
        self.held = {}
        self.orders = queue.Queue()
        threading.Thread(target=self.work, daemon=True).start()

    def work(self):
        while True:
            words = self.orders.get()
            try:
                answer = self.run(words)
            except Exception as e:    # an answer, whatever it is: the runner decides
                answer = f'error {type(e).__name__} {e}'
            self.say(f'{self.number} {time.monotonic_ns()} {answer}')

    def run(self, words):
        verbs = {'lock': self.lock, 'unlock': self.unlock, 'locked': self.locked,
                 'ttl': self.ttl, 'cycles': self.cycles}
        if words[0] not in verbs or words[1] != 'lock':
            return 'unsupported'
        return verbs[words[0]](*words[2:])

    def lock(self, name, wait, lease):
        if lease == '-':
            return 'unsupported'
        lock = Lock(self.client, name, timeout=int(lease) / 1000, **SLEEP)
        if wait == '0':
            has, no = lock.acquire(blocking=False), 'busy'
        else:
            limit = None if wait == '-' else int(wait) / 1000
            has, no = lock.acquire(blocking=True, blocking_timeout=limit), 'timeout'
        if not has:
            return no
        self.held.setdefault(name, []).append(lock)
        return 'ok'

    def unlock(self, name):
        if not self.held.get(name):
            return 'lost'
        try:
            self.held[name].pop().release()
            return 'ok'
        except LockError:
            return 'lost'

    def locked(self, name):
        return f'ok {self.client.exists(name)}'

    def ttl(self, name):
        return f'ok {self.client.pttl(name)}'

    def cycles(self, name, count, lease, counter, records, inside='0'):
        lost, lines, enter, leave = 0, [], 0, 0
        fd = os.open(counter, os.O_RDWR)
        for i in range(int(count)):
            got = self.lock(name, '-', lease)
            if got != 'ok':
                return f'error cycle {i}: {got}'
            enter = time.monotonic_ns()
            number = struct.unpack('<q', os.pread(fd, 8, 0))[0]
            os.pwrite(fd, struct.pack('<q', number + 1), 0)
            if inside != '0':
                time.sleep(int(inside) / 1000)
            leave = time.monotonic_ns()
            lines.append(f'{enter} {leave}\n')
            lost += self.unlock(name) != 'ok'
        os.close(fd)
        if records == '-':
            return f'ok {count} {lost} {enter} {leave}'
        with open(records, 'w') as file:
            file.writelines(lines)
        return f'ok {count} {lost}'


CLUSTER = 'redis+cluster://'


def connect(address):
    if not address.startswith(CLUSTER):
        return redis.Redis.from_url(address)
    places = [place.rsplit(':', 1) for place in address[len(CLUSTER):].split(',')]
    return RedisCluster(startup_nodes=[ClusterNode(host, int(port)) for host, port in places])


def main():
    lock = threading.Lock()

    def say(line):
        with lock:
            sys.stdout.write(line + '\n')
            sys.stdout.flush()

    if ' ' in sys.argv[1]:
        say('no redis-py: its Lock has one server')
        sys.exit(1)
    client = connect(sys.argv[1])
    client.ping()
    workers = {}
    say(f'ready redis-py {redis.__version__} lock')
    for line in sys.stdin:
        words = [unquote(word) for word in line.split()]
        number = int(words[0])
        if number not in workers:
            workers[number] = Worker(client, number, say)
        workers[number].orders.put(words[1:])
    os._exit(0)


main()
