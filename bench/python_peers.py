# SPDX-License-Identifier: MIT
"""python_peers.py PAIR - lock libraries for Python beside each other: see bench/python_run."""
import asyncio
import logging
import multiprocessing
import os
import resource
import statistics
import subprocess
import sys
import threading
import time
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../test/cli'))
import harness  # noqa: E402

import dibs  # noqa: E402
import dibs.aio  # noqa: E402
import dibs.redis_py  # noqa: E402
import pottery  # noqa: E402
import redis  # noqa: E402
import redis.asyncio  # noqa: E402
import redis_lock  # noqa: E402

warnings.simplefilter('ignore')
logging.disable(logging.CRITICAL)
PAIRS, ROUNDS, HANDOFFS, WAITERS, TASKS, SECONDS = 500, 9, 40, 100, 64, 3.0
TTL = 30


class Dibs:
    """Each library: a connection, and a new lock of a name, with acquire() and release()."""

    def __init__(self, url):
        self.client = dibs.Client(url)

    def lock(self, name):
        return DibsLock(self.client.lock(name, ttl=TTL))


class DibsLock:
    def __init__(self, lock):
        self.lock = lock

    def acquire(self):
        self.hold = self.lock.acquire()

    def release(self):
        self.hold.release()


class RedisPy:
    def __init__(self, url):
        self.redis = redis.Redis.from_url(url, max_connections=2 * WAITERS)

    def lock(self, name):
        return self.redis.lock(name, timeout=TTL)


class DropIn(RedisPy):
    def lock(self, name):
        return dibs.redis_py.Lock(self.redis, name, timeout=TTL)


class PythonRedisLock(RedisPy):
    def lock(self, name):
        return redis_lock.Lock(self.redis, name, expire=TTL)


class Pottery(RedisPy):
    def lock(self, name):
        return pottery.Redlock(key=name, masters={self.redis}, auto_release_time=TTL)


LIBRARIES = {'dibs': Dibs, 'dibs.redis_py': DropIn, 'redis-py': RedisPy,
             'python-redis-lock': PythonRedisLock, 'pottery': Pottery}


def pair(library, url):
    lock, took = library(url).lock('pair'), []
    for _ in range(PAIRS):
        begun = time.perf_counter()
        lock.acquire()
        lock.release()
        took.append((time.perf_counter() - begun) * 1e6)
    return statistics.median(took)


def pair_in_c(program, url):
    out = subprocess.run([program, url, str(PAIRS)], stdout=subprocess.PIPE, text=True, check=True)
    return statistics.median(map(float, out.stdout.split()))


def pairs(program, url):
    """Of each library, and of C: the median of all rounds, and of the ratios to C in a round, so
    that what else the machine does falls on both."""
    took = {name: [] for name in ('C', *LIBRARIES)}
    for _ in range(ROUNDS):
        took['C'].append(pair_in_c(program, url))
        for name, library in LIBRARIES.items():
            took[name].append(pair(library, url))
    return {name: (statistics.median(mine), statistics.median(
        a / b for a, b in zip(mine, took['C']))) for name, mine in took.items()}


def wait_often(name, url, pipe):
    lock = LIBRARIES[name](url).lock('handoff')
    while pipe.recv():
        pipe.send('waits')
        lock.acquire()
        at = time.monotonic()
        lock.release()
        pipe.send(at)


def handoff(name, url):
    """From before the release in one process to the end of acquire() in another, ms."""
    here, there = multiprocessing.get_context('spawn').Pipe()
    waiter = multiprocessing.get_context('spawn').Process(
        target=wait_often, args=(name, url, there))
    waiter.start()
    lock, took = LIBRARIES[name](url).lock('handoff'), []
    for number in range(HANDOFFS):
        lock.acquire()
        here.send(True)
        here.recv()
        time.sleep(0.15 + number * 0.003)           # at another moment of a poller's sleep
        begun = time.monotonic()
        lock.release()
        took.append((here.recv() - begun) * 1e3)
    here.send(False)
    waiter.join()
    return statistics.median(took)


def server_cpu(server):
    with open('/proc/%d/stat' % server.process.pid) as file:
        fields = file.read().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def client_cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def waiting(library, url, server):
    """CPU of the client and of the server while WAITERS threads wait, in % of a core."""
    mine = library(url)
    first = mine.lock('crowd')
    first.acquire()

    def wait():
        lock = mine.lock('crowd')
        lock.acquire()
        lock.release()

    threads = [threading.Thread(target=wait, daemon=True) for _ in range(WAITERS)]
    for thread in threads:
        thread.start()
    time.sleep(1)
    before = client_cpu(), server_cpu(server)
    time.sleep(SECONDS)
    after = client_cpu(), server_cpu(server)
    first.release()
    for thread in threads:
        thread.join(60)
    return [(b - a) / SECONDS * 100 for a, b in zip(before, after)]


async def tasks(make):
    """Turns in a second of TASKS tasks that compete for one name."""
    turns, end = 0, time.monotonic() + SECONDS

    async def work():
        nonlocal turns
        while time.monotonic() < end:
            async with make():
                turns += 1

    await asyncio.gather(*[work() for _ in range(TASKS)])
    return turns / SECONDS


async def tasks_of_dibs(url):
    async with dibs.aio.Client(url) as client:
        return await tasks(lambda: client.lock('tasks'))


async def tasks_of_redis(url, make):
    client = redis.asyncio.Redis.from_url(url, max_connections=2 * WAITERS)
    try:
        return await tasks(lambda: make(client))
    finally:
        await client.aclose()


def turns_of_threads(library, url):
    """The same with threads, of a library without asyncio."""
    mine, turns, end = library(url), [], time.monotonic() + SECONDS

    def work():
        while time.monotonic() < end:
            lock = mine.lock('threads')
            lock.acquire()
            turns.append(1)
            lock.release()

    threads = [threading.Thread(target=work) for _ in range(TASKS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(turns) / SECONDS


def turns_of_tasks(url):
    """Turns in a second: asyncio, where the library has it, else threads."""
    return {
        'dibs': asyncio.run(tasks_of_dibs(url)),
        'dibs.redis_py': asyncio.run(tasks_of_redis(
            url, lambda client: dibs.redis_py.aio.Lock(client, 'tasks', timeout=TTL))),
        'redis-py': asyncio.run(tasks_of_redis(
            url, lambda client: client.lock('tasks', timeout=TTL))),
        'python-redis-lock': turns_of_threads(PythonRedisLock, url),
        'pottery': asyncio.run(tasks_of_redis(url, lambda client: pottery.AIORedlock(
            key='tasks', masters={client}, auto_release_time=TTL)))}


def main():
    server = harness.Server('--maxclients', '500')
    url, rows = server.url, {}
    load = os.getloadavg()[0]
    single = pairs(sys.argv[1], url)
    for name, library in LIBRARIES.items():
        rows[name] = [*single[name], handoff(name, url), *waiting(library, url, server)]
    turns = turns_of_tasks(url)
    server.stop()
    print('load %.1f before; a pair in C: %.0f us; redis-py %s' % (
        load, single['C'][0], redis.__version__))
    print('| library | pair, µs | hand-off, ms | CPU while 100 threads wait, client + server '
          '| 64 tasks, turns/s |\n|---|---|---|---|---|')
    for name, (us, ratio, ms, mine, theirs) in rows.items():
        print('| %s | %.0f (%.2f × C) | %.2f | %.1f %% + %.1f %% | %s |' % (
            name, us, ratio, ms, mine, theirs,
            '%.0f' % turns[name] if name in turns else '–'))


if __name__ == '__main__':
    main()
