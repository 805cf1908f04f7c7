# SPDX-License-Identifier: MIT
"""test_redis_py_unanswered.py - calls of dibs.redis_py.Lock that the server does not answer: it is
stopped, and executes later what it has received. A lock without a timeout has no other end."""
import asyncio
import gc
import subprocess
import sys

import pytest

import harness

redis = pytest.importorskip('redis', reason='redis-py is not installed')
import redis.asyncio.retry  # noqa: E402
from redis.backoff import NoBackoff  # noqa: E402
from redis.retry import Retry  # noqa: E402
from dibs import redis_py  # noqa: E402
from dibs.redis_py import undo  # noqa: E402

def resumed(server, name):
    """It has executed the request that it did not answer, and the key is gone."""
    server.resume()
    harness.until(lambda: 'cmdstat_set:' in server.ask('INFO', 'commandstats'), 'the key was set')
    harness.until(lambda: server.ask('EXISTS', name).startswith(':0'), 'the key is deleted')


@pytest.mark.parametrize('call', ['acquire', 'release', 'with'])
def test_a_call_without_an_answer_leaves_no_key(own_server, name, call):
    with redis.Redis(unix_socket_path=own_server.socket, socket_timeout=0.2,
                     retry=Retry(NoBackoff(), 0)) as there:
        lock = redis_py.Lock(there, name)
        there.ping()
        if call != 'acquire':
            lock.acquire()
        own_server.pause()
        with pytest.raises(redis.exceptions.TimeoutError):
            if call == 'with':
                lock.__exit__(None, None, None)
            else:
                getattr(lock, call)()
        assert (lock.local.token is None) is (call == 'acquire')
        resumed(own_server, name)
        if call != 'acquire':
            with pytest.raises(redis.exceptions.LockNotOwnedError):
                lock.release()
        with lock:
            assert lock.owned()


@pytest.mark.parametrize('call', ['acquire', 'release'])
@pytest.mark.parametrize('is_cancelled', [False, True])
def test_a_call_of_a_task_without_an_answer_leaves_no_key(own_server, name, call, is_cancelled):
    reported = []

    async def main():
        asyncio.get_running_loop().set_exception_handler(lambda loop, what: reported.append(what))
        there = redis.asyncio.Redis(unix_socket_path=own_server.socket, socket_timeout=0.2,
                                    retry=redis.asyncio.retry.Retry(NoBackoff(), 0))
        lock = redis_py.aio.Lock(there, name)
        await there.ping()
        if call == 'release':
            await lock.acquire()
        own_server.pause()
        task = asyncio.ensure_future(getattr(lock, call)())
        if is_cancelled:
            for _ in range(20):                  # it has been sent
                await asyncio.sleep(0)
            task.cancel()
        await asyncio.wait({task})
        assert task.cancelled() if is_cancelled else isinstance(
            task.exception(), redis.exceptions.TimeoutError)
        del task
        await asyncio.sleep(0.4)         # for its end without a caller
        await asyncio.get_running_loop().run_in_executor(None, resumed, own_server, name)
        assert (lock.local.token is None) is (call == 'acquire')

    asyncio.run(main())
    gc.collect()
    assert not reported


def test_the_end_of_the_process_waits_for_the_answer(own_server, name):
    program = subprocess.Popen([sys.executable, '-c', '''
import redis, redis.backoff, redis.retry, sys
from dibs.redis_py import Lock, undo
undo.LAST_S = 20                            # a slow machine resumes the server later
there = redis.Redis(unix_socket_path=sys.argv[1], socket_timeout=0.2,
                    retry=redis.retry.Retry(redis.backoff.NoBackoff(), 0))
there.ping()
print('ready', flush=True)
input()
try:
    Lock(there, sys.argv[2]).acquire()
except redis.exceptions.TimeoutError:
    print('ends', flush=True)
''', own_server.socket, name], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert program.stdout.readline() == 'ready\n'
    own_server.pause()
    program.stdin.write('\n')
    program.stdin.flush()
    assert program.stdout.readline() == 'ends\n'
    resumed(own_server, name)
    assert program.wait(20) == 0


def test_a_server_that_never_answers_is_asked_for_a_limited_time(monkeypatch):
    asked = []

    def release():
        asked.append(True)
        raise redis.exceptions.ConnectionError

    monkeypatch.setattr(undo, 'LIMIT_S', 0.3)
    unanswered = undo.Unanswered()
    for _ in range(2):                           # the thread of the first has ended
        asked.clear()
        unanswered.add(release)
        unanswered.wait(20)
        assert unanswered._thread is None and not unanswered._left and len(asked) > 1


@pytest.mark.parametrize('is_given', [False, True])
def test_the_release_of_a_token_that_may_be_given_again_is_not_repeated(monkeypatch, is_given):
    class Silent(redis_py.Lock):
        def do_acquire(self, token):
            if self.is_granted:
                return True
            raise redis.exceptions.TimeoutError

        def do_release(self, token):
            raise redis.exceptions.TimeoutError

    repeated = []
    monkeypatch.setattr(undo, 'repeat', repeated.append)
    lock = Silent(redis.Redis(), 'x')
    lock.is_granted = True
    assert lock.acquire(token='mine' if is_given else None)
    with pytest.raises(redis.exceptions.TimeoutError):
        lock.release()
    assert len(repeated) == (0 if is_given else 1)
    lock.is_granted = False
    with pytest.raises(redis.exceptions.TimeoutError):
        lock.acquire(token='mine' if is_given else None)
    assert len(repeated) == (0 if is_given else 2)
