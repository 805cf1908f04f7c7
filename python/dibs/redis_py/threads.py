# SPDX-License-Identifier: MIT
"""dibs.redis_py.threads - the threads of a process that wait for one lock, and how the first of
them listens."""
import os
import threading
import time
from typing import Any, Optional

from redis.client import PubSub
from redis.connection import ConnectionPool
from redis.exceptions import RedisError

from dibs.redis_py.line import Lines
from dibs.redis_py.message import channel_of, key_of, receiver_of

CONFIRMED_S = 1.0             # the longest wait for the confirmation of a subscription


class Listener:
    """Receives the releases of a lock. Without the right to, or without a connection, it only
    sleeps."""

    def __init__(self, redis: Any, name: Any) -> None:
        self._pubsub: Any = None
        try:
            self._pubsub = receiver_of(redis, ConnectionPool, PubSub)
            self._pubsub.subscribe(channel_of(redis, name))
            end = time.monotonic() + CONFIRMED_S
            while not self._is_confirmed() and time.monotonic() < end:
                pass
        except (RedisError, OSError):
            self.close()

    def _is_confirmed(self) -> bool:
        message = self._pubsub.get_message(timeout=CONFIRMED_S)
        return message is not None and message['type'] == 'subscribe'

    def wait(self, seconds: float) -> bool:
        """Whether a message came within that time."""
        end = time.monotonic() + seconds
        while self._pubsub is not None:
            left = max(0.0, end - time.monotonic())
            try:
                message = self._pubsub.get_message(ignore_subscribe_messages=True, timeout=left)
            except (RedisError, OSError):
                self.close()
                break
            if message is not None or left == 0:
                return message is not None
        time.sleep(max(0.0, end - time.monotonic()))
        return False

    def close(self) -> None:
        pubsub, self._pubsub = self._pubsub, None
        if pubsub is not None:
            pubsub.close()


_lines = Lines()
_mutex = threading.Lock()
_of_thread = threading.local()


def _begin_again() -> None:
    """In a forked child no thread waits, and none will unlock the mutex."""
    global _lines, _mutex
    _lines, _mutex = Lines(), threading.Lock()


os.register_at_fork(after_in_child=_begin_again)


def is_awaited(redis: Any, name: Any, pause: float) -> bool:
    """Whether threads of this process wait for it: another one joins them."""
    return key_of(redis, name, pause) in _lines


class Place:
    """The place of one thread in a line."""

    def __init__(self, redis: Any, name: Any, pause: float) -> None:
        self._redis, self._name, self._key = redis, name, key_of(redis, name, pause)
        self._turn = threading.Event()

    def __enter__(self) -> 'Place':
        with _mutex:
            self._line = _lines.enter(self._key, self._turn)
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        self.leave()

    def leave(self) -> None:
        """Also one that a signal has kept from entering or leaving."""
        _of_thread.listener = None
        with _mutex:
            listener = _lines.leave(self._key, self._turn)
        if listener is not None:
            listener.close()

    def comes(self, seconds: Optional[float]) -> bool:
        """Whether this thread is the first within that time."""
        return self._turn.wait(seconds)

    def listen(self) -> None:
        """What is released from now on ends the next sleep of this thread."""
        listener = self._line.listener
        if listener is None:
            listener = self._line.listener = Listener(self._redis, self._name)
        while listener.wait(0):
            pass
        _of_thread.listener = listener


class Clock:
    """What redis-py's lock uses of the module time."""

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Ends early when the lock for which this thread waits is released."""
        listener: Optional[Listener] = getattr(_of_thread, 'listener', None)
        if listener is None or seconds < 0:      # that is a ValueError
            time.sleep(seconds)
        else:
            listener.wait(seconds)
