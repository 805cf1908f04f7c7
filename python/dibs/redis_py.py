# SPDX-License-Identifier: MIT
"""dibs.redis_py - a Lock with the signature of redis-py's, on the same keys.

    from dibs.redis_py import Lock          # was: from redis.lock import Lock
    with Lock(redis, "orders:42", timeout=30, blocking_timeout=5):
        ...

A key is locked for both, as in the dialect `plain`. What is different: without a `timeout` the
lock is a lease of 30 s that is renewed until the release, so that it ends with its process; the
release of a lock that has ended raises LockNotOwnedError, also if no other client has it. `sleep`
is accepted, and the library decides when it polls. Where the server does not answer, calls raise
dibs.Error. Not for redis.asyncio."""
import contextlib
import logging
import os
import threading
import time
import weakref
from types import SimpleNamespace
from typing import Any, Callable, Dict, Optional, Tuple, Union
from urllib.parse import quote

from dibs.client import Client
from dibs.errors import Busy, Error, Lost, TimedOut
from dibs.hold import Hold

try:
    from redis.exceptions import LockError, LockNotOwnedError
except ImportError:
    class LockError(ValueError):  # type: ignore[no-redef]
        """Without redis-py: what its exception of this name is."""

    class LockNotOwnedError(LockError):  # type: ignore[no-redef]
        """The lock has ended, or another client has it."""

Number = Union[int, float]
_clients: 'weakref.WeakKeyDictionary[Any, Tuple[int, Client]]' = weakref.WeakKeyDictionary()
_clients_mutex = threading.Lock()


def client_of(redis: Any) -> Client:
    """A client of the same server and database as a redis.Redis: one for each connection pool.
    A dibs.Client of the dialect `plain` is itself."""
    if isinstance(redis, Client):
        return redis
    pool = redis.connection_pool
    with _clients_mutex:
        pid, client = _clients.get(pool, (0, None))
        if client is None or pid != os.getpid():      # a forked child needs its own
            client = Client(_url(pool), dialect='plain', **_options(pool))
            _clients[pool] = os.getpid(), client
            weakref.finalize(pool, client.close)
        return client


def _url(pool: Any) -> str:
    given = pool.connection_kwargs
    database = given.get('db') or 0
    if given.get('path'):
        return 'unix://%s?db=%d' % (quote(given['path']), database)
    is_tls = 'SSL' in pool.connection_class.__name__
    host = given.get('host') or 'localhost'
    return '%s://%s:%d/%d' % ('rediss' if is_tls else 'redis',
                              '[%s]' % host if ':' in host else host, given.get('port') or 6379,
                              database)


def _options(pool: Any) -> Dict[str, Any]:
    given = pool.connection_kwargs
    if given.get('credential_provider') is not None:
        raise ValueError('dibs: a credential_provider is not supported: pass a dibs.Client')
    if given.get('ssl_cert_reqs') in ('none', 'optional') or given.get('ssl_cert_reqs') == 0:
        raise ValueError('dibs: certificates are always checked: pass a dibs.Client')
    names = {'username': 'user', 'password': 'password', 'ssl_ca_certs': 'ca_file',
             'ssl_certfile': 'cert_file', 'ssl_keyfile': 'key_file'}
    return {ours: given[theirs] for theirs, ours in names.items() if given.get(theirs)}


class _Lease:
    """A lock with a `timeout`: it is not renewed, and its token names it, as in redis-py."""

    def __init__(self, client: Client, hold: Hold, timeout: Number) -> None:
        self._client, self._end = client, time.monotonic() + timeout
        try:
            self.token = hold.token()
            hold.detach()
        except Error:                            # it is over already
            with contextlib.suppress(Error):
                hold.release()
            raise

    @property
    def is_held(self) -> bool:
        return time.monotonic() < self._end

    def renew(self, timeout: Number) -> None:
        left = self._client.renew(self.token, timeout)
        self._end = time.monotonic() + left

    def left(self) -> float:
        return max(0.0, self._end - time.monotonic())

    def release(self) -> None:
        self._client.release(self.token)


class Lock:
    """As redis.lock.Lock; `redis`: a redis.Redis, or a dibs.Client of the dialect `plain`."""

    def __init__(self, redis: Any, name: str, timeout: Optional[Number] = None,
                 sleep: Number = 0.1, blocking: bool = True,
                 blocking_timeout: Optional[Number] = None, thread_local: bool = True,
                 raise_on_release_error: bool = True) -> None:
        self.redis, self.name, self.timeout, self.sleep = redis, name, timeout, sleep
        self.blocking, self.blocking_timeout = blocking, blocking_timeout
        self.thread_local, self.raise_on_release_error = bool(thread_local), raise_on_release_error
        self.local: Any = threading.local() if self.thread_local else SimpleNamespace()
        self.local.lease = None
        self._client = client_of(redis)

    def acquire(self, sleep: Optional[Number] = None, blocking: Optional[bool] = None,
                blocking_timeout: Optional[Number] = None, token: Optional[str] = None) -> bool:
        """Acquires it; False: another client holds it still."""
        if token is not None:
            raise ValueError('dibs: the token of a lock cannot be chosen')
        is_blocking = self.blocking if blocking is None else blocking
        wait = self.blocking_timeout if blocking_timeout is None else blocking_timeout
        lock = self._client.lock(self.name, wait=wait, ttl=self.timeout, owned=False,
                                 fixed=self.timeout is not None)
        try:
            hold = lock.acquire() if is_blocking else lock.try_acquire()
        except (Busy, TimedOut):
            return False
        timeout = self.timeout
        self.local.lease = hold if timeout is None else _Lease(self._client, hold, timeout)
        return True

    def __enter__(self) -> 'Lock':
        if self.acquire():
            return self
        raise LockError('Unable to acquire lock within the time specified')

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        try:
            self.release()
        except LockError:
            if self.raise_on_release_error:
                raise
            logging.getLogger(__name__).warning('the lock %s had ended at the end of its block',
                                                self.name)

    def locked(self) -> bool:
        """Whether any client holds it."""
        return self._client.inspect(self.name).is_held

    def owned(self) -> bool:
        """Whether this lock holds it still, as this client knows."""
        lease = self._lease()
        return lease is not None and bool(lease.is_held)

    def release(self) -> None:
        """Releases it. LockNotOwnedError: it had ended before."""
        lease = self._lease()
        if lease is None:
            raise LockError('Cannot release an unlocked lock')
        self.local.lease = None
        self._end(lease.release, "Cannot release a lock that's no longer owned")

    def extend(self, additional_time: Number, replace_ttl: bool = False) -> bool:
        """Adds to the time that is left, or sets it. Needs a `timeout`."""
        lease = self._extensible('extend')
        left = additional_time if replace_ttl else lease.left() + additional_time
        self._end(lambda: lease.renew(left), "Cannot extend a lock that's no longer owned")
        return True

    def reacquire(self) -> bool:
        """Sets the time that is left to `timeout`."""
        lease, timeout = self._extensible('reacquire'), self.timeout or 0
        self._end(lambda: lease.renew(timeout), "Cannot reacquire a lock that's no longer owned")
        return True

    def _lease(self) -> Any:
        return getattr(self.local, 'lease', None)

    def _extensible(self, verb: str) -> _Lease:
        lease = self._lease()
        if lease is None:
            raise LockError('Cannot %s an unlocked lock' % verb)
        if not isinstance(lease, _Lease):
            raise LockError('Cannot %s a lock with no timeout' % verb)
        return lease

    def _end(self, call: Callable[[], None], text: str) -> None:
        try:
            call()
        except Lost as error:
            raise LockNotOwnedError('%s: %s' % (text, error.text)) from error
