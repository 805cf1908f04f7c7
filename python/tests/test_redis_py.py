# SPDX-License-Identifier: MIT
"""test_redis_py.py - dibs.redis_py.Lock beside redis-py's own Lock on the same key, and redis-py's own
tests of it. A pause of an hour between two asks: what has the lock within the limit got a message."""
import asyncio
import os
import re
import shutil
import socket
import subprocess
import sys
import threading

import pytest

import harness

redis = pytest.importorskip('redis', reason='redis-py is not installed')
import redis.asyncio  # noqa: E402
import dibs  # noqa: E402
from dibs import redis_py  # noqa: E402
from dibs.redis_py.line import Lines  # noqa: E402

HOUR = 3600


@pytest.fixture
def there(server):
    made = redis.Redis(unix_socket_path=server.socket)
    yield made
    made.close()


def test_both_exclude_each_other(there, name):
    mine, theirs = redis_py.Lock(there, name, timeout=30), there.lock(name, timeout=30)
    with mine:
        assert mine.locked() and mine.owned() and theirs.locked() and not theirs.owned()
        assert not theirs.acquire(blocking=False)
        assert not redis_py.Lock(there, name).acquire(blocking=False)
    with theirs:
        assert mine.locked() and not mine.owned()
        assert not mine.acquire(blocking=False)
        assert not mine.acquire(blocking_timeout=0.2)
    assert not mine.locked()


def test_a_waiter_gets_the_key_of_the_other_library(there, name):
    for holder, waiter in ((redis_py.Lock, redis.lock.Lock), (redis.lock.Lock, redis_py.Lock)):
        first, second, got = holder(there, name, 30), waiter(there, name), []
        assert first.acquire()
        thread = threading.Thread(
            target=lambda: got.append((second.acquire(blocking_timeout=20), second.release())))
        thread.start()
        first.release()
        thread.join(20)
        assert got == [(True, None)]


def awaited(there, name):
    return lambda: there.pubsub_numsub('dibs:free:' + name)[0][1] == 1


def test_a_release_wakes_a_waiter_of_another_client(there, server, name):
    got = []

    def wait():
        with redis.Redis(unix_socket_path=server.socket) as own:
            with redis_py.Lock(own, name, sleep=HOUR):
                got.append(True)

    with redis_py.Lock(there, name):
        thread = threading.Thread(target=wait)
        thread.start()
        harness.until(awaited(there, name), 'it listens')
        assert not got
    thread.join(20)
    assert got == [True]
    harness.until(lambda: not awaited(there, name)(), 'it listens no more')


def test_the_library_and_both_classes_wake_each_other(there, server, name):
    """Its own waiter also polls: test/sim/plain_message_test.c shows that the message is enough."""
    with dibs.Client(server.url, dialect='plain') as client:
        ours, theirs = client.lock(name), redis_py.Lock(there, name, sleep=HOUR, thread_local=False)
        for holder, waiter in ((ours, theirs), (theirs, ours)):
            got, held = [], holder.acquire()
            thread = threading.Thread(target=lambda: got.append(waiter.acquire()))
            thread.start()
            harness.until(awaited(there, name), 'it listens')
            assert not got
            (theirs if held is True else held).release()
            thread.join(20)
            (theirs if got[0] is True else got[0]).release()


def test_threads_of_a_process_take_turns_over_one_subscription(there, name):
    turns, most = [], []

    def work():
        with redis_py.Lock(there, name, sleep=HOUR) as lock:
            turns.append(lock.local.token)
            most.append(there.pubsub_numsub('dibs:free:' + name)[0][1])

    with redis_py.Lock(there, name):
        threads = [threading.Thread(target=work) for _ in range(16)]
        for thread in threads:
            thread.start()
        harness.until(awaited(there, name), 'one listens')
    for thread in threads:
        thread.join(20)
    assert len(set(turns)) == 16 and max(most) == 1 and not there.exists(name)


def test_a_line_has_one_first_and_ends_with_its_last():
    lines, turns = Lines(), [threading.Event() for _ in range(4)]
    line = [lines.enter('key', turn) for turn in turns][0]
    line.listener = 'listener'
    lines.enter('other', threading.Event())
    assert [turn.is_set() for turn in turns] == [True, False, False, False]
    assert lines.leave('key', turns[1]) is None and not turns[2].is_set()
    assert lines.leave('key', turns[0]) is None
    assert turns[2].is_set() and not turns[3].is_set()
    assert lines.leave('key', turns[2]) is None and 'key' in lines
    assert lines.leave('key', turns[3]) == 'listener' and 'key' not in lines and 'other' in lines


def test_a_limit_ends_the_wait_of_one_that_is_not_the_first(there, name):
    def last():
        return redis_py.Lock(there, name, sleep=0.01, blocking_timeout=0.2).acquire()

    with redis_py.Lock(there, name):
        threads = [threading.Thread(target=last) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
    assert last()


def test_without_the_right_to_messages_it_polls(own_server, name):
    own_server.ask('ACL', 'SETUSER', 'mute', 'on', 'nopass', '~*', 'resetchannels', '+@all')
    with redis.Redis(unix_socket_path=own_server.socket, username='mute', password='x') as mute:
        with pytest.raises(redis.exceptions.NoPermissionError):
            mute.publish('dibs:free:' + name, '')
        first, got = redis_py.Lock(mute, name), []
        assert first.acquire()
        thread = threading.Thread(target=lambda: got.append(
            redis_py.Lock(mute, name, sleep=0.01).acquire(blocking_timeout=20)))
        thread.start()
        first.release()
        thread.join(20)
        assert got == [True]


@pytest.mark.parametrize('kind', [KeyboardInterrupt, redis.exceptions.TimeoutError])
def test_what_was_granted_without_an_answer_is_given_back(there, name, kind):
    class Cut(redis_py.Lock):
        def do_acquire(self, token):
            assert super().do_acquire(token)
            raise kind

    with pytest.raises(kind):
        Cut(there, name).acquire()
    assert not there.exists(name)


def test_a_command_that_was_sent_twice_finds_its_own_token(there, name):
    class Twice(redis_py.Lock):
        def do_acquire(self, token):
            return super().do_acquire(token) and super().do_acquire(token)

    with Twice(there, name) as lock:
        assert lock.owned()
        assert not Twice(there, name).acquire(blocking=False, token=lock.local.token)
    assert not there.exists(name)


def test_a_key_of_another_type_is_held_by_another(there, name):
    there.rpush(name, 'x')
    for kind in (redis.lock.Lock, redis_py.Lock):
        assert kind(there, name).acquire(blocking=False) is False
        assert kind(there, name, sleep=0.01, blocking_timeout=0.02).acquire() is False


def test_a_negative_pause_is_refused_where_it_is_slept(there, name):
    with redis_py.Lock(there, name):
        for kind in (redis.lock.Lock, redis_py.Lock):
            with pytest.raises(ValueError, match='must be non-negative'):
                kind(there, name, sleep=-1, blocking_timeout=1).acquire()
    redis_py.Lock(there, name, sleep=-1).acquire()


def test_a_forked_child_waits_by_itself(there, server, run):
    done = run('''
import redis
from dibs.redis_py import Lock
there = redis.Redis.from_url(URL)
first = Lock(there, NAME)
first.acquire()
waiter = threading.Thread(target=Lock(there, NAME, sleep=3600).acquire, daemon=True)
waiter.start()
listened = lambda count: there.pubsub_numsub('dibs:free:' + NAME)[0][1] == count
while not listened(1): time.sleep(0.005)
child = os.fork()
if child == 0:
    os._exit(0 if Lock(there, NAME, sleep=3600).acquire() else 1)
while not listened(2): time.sleep(0.005)
first.release()
ended = os.waitpid(child, os.WNOHANG)
while not there.exists(NAME): time.sleep(0.005)
there.delete(NAME), there.publish('dibs:free:' + NAME, '')
print(os.waitpid(child, 0)[1] if ended[0] == 0 else ended[1])
''')
    assert (done.returncode, done.stdout) == (0, '0\n')


def test_a_lock_is_of_its_thread_unless_it_says_otherwise(there, name):
    for is_local in (True, False):
        lock, raised = redis_py.Lock(there, name, timeout=30, thread_local=is_local), []

        def release():
            try:
                lock.release()
            except redis.exceptions.LockError as error:
                raised.append(error)

        lock.acquire()
        thread = threading.Thread(target=release)
        thread.start()
        thread.join(10)
        assert bool(raised) is is_local
        if is_local:
            lock.release()


def looped(test):
    """A test whose coroutine gets a redis.asyncio.Redis, and runs to its end."""

    def run(server, there, name):
        async def main():
            own = redis.asyncio.Redis(unix_socket_path=server.socket)
            try:
                await test(own, there, name)
            finally:
                await (own.aclose if hasattr(own, 'aclose') else own.close)()

        asyncio.run(asyncio.wait_for(main(), 25))

    run.__name__ = test.__name__
    return run


async def until(condition):
    while not condition():
        await asyncio.sleep(0.005)


@looped
async def test_tasks_take_turns_over_one_subscription(own, there, name):
    turns = []

    async def work():
        async with redis_py.aio.Lock(own, name, sleep=HOUR) as lock:
            turns.append(lock.local.token)
            assert there.pubsub_numsub('dibs:free:' + name)[0][1] <= 1

    async with redis_py.aio.Lock(own, name):
        tasks = [asyncio.ensure_future(work()) for _ in range(64)]
        await until(awaited(there, name))
    await asyncio.gather(*tasks)
    assert len(set(turns)) == 64 and not there.exists(name)
    await until(lambda: not awaited(there, name)())


@looped
async def test_a_key_of_another_type_is_held_by_another_task(own, there, name):
    there.rpush(name, 'x')
    for kind in (redis.asyncio.lock.Lock, redis_py.aio.Lock):
        assert await kind(own, name).acquire(blocking=False) is False


@looped
async def test_a_release_of_a_thread_wakes_a_task(own, there, name):
    first = redis_py.Lock(there, name)
    assert first.acquire()
    task = asyncio.ensure_future(redis_py.aio.Lock(own, name, sleep=HOUR).acquire())
    await until(awaited(there, name))
    first.release()
    assert await task and there.exists(name)


IMPORTS = (('test_lock.py', (('from redis import lock as', 'from dibs.redis_py import lock as'),
                             ('from redis.lock import', 'from dibs.redis_py.lock import'))),
           ('test_asyncio/test_lock.py', (
               ('import redis.asyncio.lock as', 'import dibs.redis_py.aio as'),
               ('from redis.asyncio.lock import', 'from dibs.redis_py.aio import'))))


@pytest.mark.limit(400)
def test_the_lock_tests_of_redis_py_pass_but_for_their_import(tmp_path):
    source = os.environ.get('DIBS_TEST_REDIS_PY')
    if not source:
        pytest.skip('the sdist of redis-py is not there')
    shutil.copytree(os.path.join(source, 'tests'), tmp_path / 'tests')
    shutil.copy(os.path.join(source, 'pyproject.toml'), tmp_path)
    for file, changes in IMPORTS:
        text = (tmp_path / 'tests' / file).read_text()
        for theirs, ours in changes:
            text, count = re.subn('^' + re.escape(theirs), ours, text, flags=re.M)
            assert count == 1, '%s has no line "%s"' % (file, theirs)
        (tmp_path / 'tests' / file).write_text(text)
    with socket.socket() as free:                # their fixtures know no unix sockets
        free.bind(('127.0.0.1', 0))
        port = free.getsockname()[1]
    server = harness.Server('--port', str(port), '--bind', '127.0.0.1')
    try:
        done = subprocess.run(
            [sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', '--redis-url',
             'redis://127.0.0.1:%d/0' % port, *['tests/' + file for file, _ in IMPORTS]],
            cwd=tmp_path, timeout=380, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    finally:
        server.stop()
    passed = re.search(r'^(\d+) passed, ', done.stdout, re.M)
    assert done.returncode == 0 and passed and int(passed.group(1)) >= 80, done.stdout
