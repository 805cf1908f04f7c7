# SPDX-License-Identifier: MIT
"""test_redis_py.py - dibs.redis_py.Lock beside redis-py's own Lock on the same key."""
import threading

import pytest

import dibs
from dibs import redis_py

redis = pytest.importorskip('redis', reason='redis-py is not installed')


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
    for holder, waiter in ((redis_py.Lock, there.lock), (there.lock, redis_py.Lock)):
        first = holder(there, name, 30) if holder is redis_py.Lock else holder(name, 30)
        second = waiter(there, name) if waiter is redis_py.Lock else waiter(name)
        assert first.acquire()
        got = []
        thread = threading.Thread(
            target=lambda: got.append((second.acquire(blocking_timeout=20), second.release())))
        thread.start()
        first.release()
        thread.join(20)
        assert got == [(True, None)]


def test_a_timeout_is_the_length_of_the_lease(there, name):
    lock = redis_py.Lock(there, name, timeout=10)
    lock.acquire()
    assert 5000 < there.pttl(name) <= 10000
    assert lock.extend(10) and there.pttl(name) > 15000
    assert lock.extend(40, replace_ttl=True) and there.pttl(name) > 35000
    assert lock.reacquire() and lock.owned()
    there.delete(name)
    with pytest.raises(redis.exceptions.LockNotOwnedError):
        lock.release()
    with pytest.raises(redis.exceptions.LockError, match='unlocked'):
        lock.release()


def test_without_a_timeout_the_lease_is_renewed(there, name):
    lock = redis_py.Lock(there, name)
    with lock:
        assert 0 < there.pttl(name) <= 30000
        with pytest.raises(redis.exceptions.LockError, match='no timeout'):
            lock.extend(5)
    assert there.get(name) is None


def test_a_block_that_cannot_have_it_raises(there, name):
    with there.lock(name, timeout=30):
        with pytest.raises(redis.exceptions.LockError, match='Unable'):
            with redis_py.Lock(there, name, blocking_timeout=0.1):
                pass
    lock = redis_py.Lock(there, name, timeout=30, raise_on_release_error=False)
    with lock:
        there.delete(name)


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


def test_a_client_of_dibs_is_taken_as_it_is(server, there, name):
    with dibs.Client(server.url, dialect='plain') as client:
        with redis_py.Lock(client, name):
            assert there.exists(name)
    with pytest.raises(ValueError, match='token'):
        redis_py.Lock(there, name).acquire(token='mine')


def test_options_of_a_pool_become_an_address():
    for pool, url in (
            (redis.ConnectionPool(host='h', port=7, db=2), 'redis://h:7/2'),
            (redis.ConnectionPool(host='::1'), 'redis://[::1]:6379/0'),
            (redis.ConnectionPool.from_url('rediss://h'), 'rediss://h:6379/0'),
            (redis.ConnectionPool.from_url('unix:///a b?db=3'), 'unix:///a%20b?db=3')):
        assert redis_py._url(pool) == url
    with pytest.raises(ValueError, match='certificates'):
        redis_py._options(redis.ConnectionPool(ssl_cert_reqs='none'))
