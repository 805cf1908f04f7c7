# SPDX-License-Identifier: MIT
"""test_redis_py_ends.py - calls of dibs.redis_py.Lock that end early: cancelled, interrupted, or with
their loop."""
import asyncio
import os
import threading

import pytest

import harness

redis = pytest.importorskip('redis', reason='redis-py is not installed')
from dibs import redis_py  # noqa: E402
from dibs.redis_py import tasks, threads, undo  # noqa: E402
from test_process import interrupted_at  # noqa: E402
from test_redis_py import HOUR, awaited, looped, there, until  # noqa: E402, F401


@looped
async def test_a_cancelled_task_leaves_the_line(own, there, name):
    async with redis_py.aio.Lock(own, name):
        tasks = [asyncio.ensure_future(redis_py.aio.Lock(own, name, sleep=HOUR).acquire())
                 for _ in range(3)]
        await until(awaited(there, name))
        for task in tasks[:2]:                   # the first, and one behind it
            task.cancel()
        await asyncio.wait(tasks[:2])
    assert await tasks[2]
    await until(lambda: not awaited(there, name)())


@looped
async def test_a_grant_that_a_cancelled_task_does_not_get_is_released(own, there, name):
    task = asyncio.ensure_future(redis_py.aio.Lock(own, name).acquire())
    await until(lambda: there.exists(name))      # its task has not run since
    task.cancel()
    try:
        assert await task
        there.delete(name)                       # the answer was faster
    except asyncio.CancelledError:
        await until(lambda: not there.exists(name))


@looped
async def test_a_cancelled_release_goes_on(own, there, name):
    lock = redis_py.aio.Lock(own, name, thread_local=False)
    for is_repeated in (False, True):
        assert await lock.acquire()
        task = asyncio.ensure_future(lock.release())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        if is_repeated:                          # the same release is awaited
            await lock.release()
            assert lock.local.token is None
        await until(lambda: not there.exists(name))
    with pytest.raises(redis.exceptions.LockError):
        await lock.release()


@looped
async def test_a_lock_that_is_acquired_again_after_a_cancelled_release_is_released(own, there, name):
    class Slow(redis_py.aio.Lock):
        async def do_release(self, expected_token):
            await super().do_release(expected_token)
            await asyncio.sleep(0.1)

    lock = Slow(own, name)
    assert await lock.acquire()
    task = asyncio.ensure_future(lock.release())
    await until(lambda: not there.exists(name))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await lock.acquire()
    await lock.release()
    assert not there.exists(name) and lock.local.token is None


@looped
async def test_a_waiter_has_the_lock_as_soon_as_it_is_granted(own, there, name):
    """A cancellation that came between would leave its key."""
    lock = redis_py.aio.Lock(own, name, sleep=HOUR)
    async with redis_py.aio.Lock(own, name):
        task = asyncio.ensure_future(lock.acquire())
        await until(awaited(there, name))
    while lock.local.token is None:
        await asyncio.sleep(0)
    task.cancel()
    assert await task


@looped
async def test_a_listener_ends_whose_cancellation_is_lost(own, there, name):
    """By asyncio.wait_for() before Python 3.12, if it comes with the result."""

    class Lossy(tasks.PubSub):
        async def get_message(self, **options):
            try:
                return await super().get_message(**options)
            except asyncio.CancelledError:
                return None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tasks, 'PubSub', Lossy)
        async with redis_py.aio.Lock(own, name):
            task = asyncio.ensure_future(redis_py.aio.Lock(own, name, sleep=HOUR).acquire())
            await until(awaited(there, name))
        assert await task
        await until(lambda: not awaited(there, name)())


def test_an_interruption_between_grant_and_return_leaves_no_key(there, name, monkeypatch):
    close, ended = threads.Listener.close, []

    def interrupted(listener):
        close(listener)
        assert there.exists(name)
        raise KeyboardInterrupt

    def wait():
        try:
            redis_py.Lock(there, name, sleep=HOUR).acquire()
        except KeyboardInterrupt:
            ended.append(there.exists(name))

    monkeypatch.setattr(threads.Listener, 'close', interrupted)
    with redis_py.Lock(there, name):
        thread = threading.Thread(target=wait)
        thread.start()
        harness.until(awaited(there, name), 'it listens')
    thread.join(20)
    assert ended == [0]


def test_an_interruption_at_any_place_of_a_wait_leaves_the_line(there, name):
    """A place without a thread would let no other thread of the process ask."""
    waiter, number = redis_py.Lock(there, name, sleep=0.01), 1
    with redis_py.Lock(there, name):
        while interrupted_at(number, lambda: waiter.acquire(blocking_timeout=0.02), []):
            assert not threads.is_awaited(there, name, 0.01), number
            number += 1
    assert number > 40
    with waiter:
        assert waiter.owned()


@pytest.mark.parametrize('kind', ['release', 'with'])
def test_an_interruption_at_any_place_of_a_release_leaves_no_key(there, name, kind):
    """At the first instruction of release(), or of __exit__(), no code of ours has begun: the object
    has its token still."""

    def body():
        if kind == 'with':
            with lock:
                pass
        else:
            lock.release()

    lock, number = redis_py.Lock(there, name), 1
    there.ping()
    entry = {'with': '__exit__', 'release': 'release'}[kind]
    while True:
        if kind == 'release':
            assert lock.acquire()
        if not interrupted_at(number, body, [entry], os.path.dirname(redis.__file__)):
            break
        assert not there.exists(name) and lock.local.token is None, number
        number += 1
    assert number > 20


def test_a_release_without_an_answer_may_be_called_again(there, name):
    class Cut(redis_py.Lock):
        def do_release(self, token):
            if self.is_cut:
                self.is_cut = False
                raise redis.exceptions.TimeoutError
            return super().do_release(token)

    lock = Cut(there, name, timeout=60)
    lock.is_cut = True
    with pytest.raises(redis.exceptions.TimeoutError):
        with lock:
            pass
    lock.release()
    assert not there.exists(name) and lock.local.token is None


class Unanswered(redis_py.aio.Lock):
    """The answer to its request never comes."""

    async def do_acquire(self, token):
        assert await super().do_acquire(token)
        await asyncio.Event().wait()


class Answered(redis_py.aio.Lock):
    """`leave` runs between the answer and the task that awaits it."""

    async def do_acquire(self, token):
        asyncio.get_running_loop().call_soon(self.leave, await super().do_acquire(token))
        return True


@pytest.mark.parametrize('kind', ['with the loop', 'before its end', 'after the answer'])
def test_the_end_of_a_loop_gives_back_what_no_task_gets(server, there, name, kind):
    async def main():
        own, has_left = redis.asyncio.Redis(unix_socket_path=server.socket), asyncio.Event()
        lock = (Answered if kind == 'after the answer' else Unanswered)(own, name)
        lock.leave = lambda has: (task.cancel(), has_left.set())
        task = asyncio.ensure_future(lock.acquire())
        if kind == 'after the answer':
            await has_left.wait()
        else:
            await until(lambda: there.exists(name))
        if kind == 'before its end':
            task.cancel()
            await asyncio.wait([task])

    asyncio.run(main())
    assert not there.exists(name)


@pytest.mark.parametrize('connects', [False, True])
def test_the_end_of_a_loop_loses_no_release(server, there, name, connects):
    """After each number of turns of the loop: before the command, too, or while it is sent."""

    async def main(turns):
        own = redis.asyncio.Redis(unix_socket_path=server.socket)
        lock = redis_py.aio.Lock(own, name)
        assert await lock.acquire()
        if connects:
            await own.connection_pool.disconnect()
        task = asyncio.ensure_future(lock.release())
        for _ in range(turns):
            await asyncio.sleep(0)
        return task                              # else it may be gone before its end

    for turns in range(12):
        asyncio.run(main(turns))
        assert not there.exists(name), turns


def test_a_silent_server_delays_the_end_of_a_loop_by_a_limit(server, there, name, monkeypatch):
    class Silent(Unanswered):
        async def do_release(self, token):
            await asyncio.Event().wait()

    async def main():
        own = redis.asyncio.Redis(unix_socket_path=server.socket)
        task = asyncio.ensure_future(Silent(own, name).acquire())
        await until(lambda: there.exists(name))
        assert not task.done()

    monkeypatch.setattr(undo, 'LAST_S', 0.01)
    asyncio.run(main())
    assert there.exists(name)
