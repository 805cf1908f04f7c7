# SPDX-License-Identifier: MIT
"""dibs.redis_py.tasks - the tasks of a loop that wait for one lock, and how the first of them
listens."""
import asyncio
import contextlib
from typing import Any, Awaitable, Callable, Coroutine, Optional, Set, TypeVar

from redis.asyncio.client import PubSub
from redis.asyncio.connection import ConnectionPool
from redis.exceptions import ConnectionError, LockError, RedisError, TimeoutError

from dibs.redis_py import undo
from dibs.redis_py.line import Lines
from dibs.redis_py.message import channel_of, key_of, receiver_of

CONFIRMED_S = 1.0             # the longest wait for the confirmation of a subscription
LONG_PAUSE_S = 3.0            # between attempts to reach a server that does not answer
T = TypeVar('T')
_going_on: Set['asyncio.Task[Any]'] = set()     # without the task that began them


async def _is_answered(give_back: Callable[[], Awaitable[Any]]) -> bool:
    try:
        await give_back()
    except LockError:                           # the key is not there, or is another holder's
        return True
    except (RedisError, OSError):
        return False
    return True


async def _until_answered(give_back: Callable[[], Awaitable[Any]], seconds: float) -> None:
    loop, pause = asyncio.get_running_loop(), undo.PAUSE_S
    end = loop.time() + seconds
    while not await _is_answered(give_back) and loop.time() < end:
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONG_PAUSE_S)    # there may be many of these tasks


async def _at_the_end(give_back: Callable[[], Awaitable[Any]]) -> None:
    """Both have the limit: redis-py may lose the cancellation of an attempt."""
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(_until_answered(give_back, undo.LAST_S), undo.LAST_S)


def repeated(give_back: Callable[[], Awaitable[Any]]) -> None:
    """Calls it in a task until the server answers."""
    begun(or_back(lambda: _until_answered(give_back, undo.LIMIT_S), give_back))


async def _undone(give_back: Callable[[], Awaitable[Any]]) -> None:
    if not await _is_answered(give_back):
        repeated(give_back)


def _over(task: 'asyncio.Task[Any]') -> None:
    _going_on.discard(task)
    if not task.cancelled():
        task.exception()                        # has been looked at, if no task awaits it any more


def begun(coroutine: Coroutine[Any, Any, T]) -> 'asyncio.Task[T]':
    """A command in a task of its own: the cancellation of the one that awaits it would close the
    connection with the answer on its way."""
    task = asyncio.get_running_loop().create_task(coroutine)
    _going_on.add(task)
    task.add_done_callback(_over)
    return task


async def end_of(task: 'asyncio.Task[T]', give_back: Callable[[], Awaitable[Any]]) -> T:
    """What a command answers; a cancelled task does not cancel it. The end of asyncio.run() cancels
    both: `give_back` is called if that came before the command began."""
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if task.cancelled():
            await asyncio.shield(begun(_at_the_end(give_back)))
        raise


async def asked(ask: Callable[[], Awaitable[T]], give_back: Callable[[], Awaitable[Any]]) -> T:
    """What a command grants. `give_back` undoes what a cancelled task does not get, and what may
    have been granted without an answer."""
    answer: 'asyncio.Future[T]' = asyncio.get_running_loop().create_future()
    begun(or_back(lambda: _deliver(ask, give_back, answer), give_back))
    try:
        return await answer
    except asyncio.CancelledError:
        if not answer.cancelled() and answer.exception() is None and answer.result():
            # It came before the cancellation.
            await end_of(begun(or_back(lambda: _undone(give_back), give_back)), give_back)
        raise


async def _deliver(ask: Callable[[], Awaitable[T]], give_back: Callable[[], Awaitable[Any]],
                   answer: 'asyncio.Future[T]') -> None:
    """A command without a result may have been executed, too."""
    try:
        has = await ask()
        if not answer.cancelled():
            answer.set_result(has)
        elif has:
            await _undone(give_back)
    except Exception as error:
        if isinstance(error, (ConnectionError, TimeoutError)):
            await _undone(give_back)
        if not answer.cancelled():
            answer.set_exception(error)
    finally:
        answer.cancel()


async def or_back(call: Callable[[], Awaitable[None]],
                   give_back: Callable[[], Awaitable[Any]]) -> None:
    """Undoes a call that the end of asyncio.run() has cancelled: the server may execute it all the
    same. asyncio.run() waits for the tasks that exist then, and so for this one."""
    try:
        await call()
    except asyncio.CancelledError:
        await _at_the_end(give_back)


async def _is_set_within(event: asyncio.Event, seconds: Optional[float]) -> bool:
    """asyncio.wait_for() before 3.12 loses a cancellation that comes with the result."""
    if not event.is_set():
        waits = begun(event.wait())
        try:
            await asyncio.wait({waits}, timeout=seconds)
        finally:
            waits.cancel()
    return event.is_set()


class Listener:
    """Receives the releases of a lock in a task of its own. Without the right to, or without a
    connection, nothing comes."""

    def __init__(self, redis: Any, name: Any) -> None:
        self.has_come, self.is_ready = asyncio.Event(), asyncio.Event()
        self._is_closed = False
        self._task = begun(self._receive(redis, name))

    async def _receive(self, redis: Any, name: Any) -> None:
        pubsub = receiver_of(redis, ConnectionPool, PubSub)
        try:
            await pubsub.subscribe(channel_of(redis, name))
            while not self._is_closed:
                message = await pubsub.get_message(timeout=60)
                if message is not None and message['type'] == 'subscribe':
                    self.is_ready.set()
                elif message is not None:
                    self.has_come.set()
        except (RedisError, OSError):
            pass
        finally:
            self.is_ready.set()
            close = getattr(pubsub, 'aclose', None) or pubsub.reset
            with contextlib.suppress(RedisError, OSError):
                await close()

    def close(self) -> None:
        """The task ends without its caller, who may have been granted the lock: a cancellation that
        came here would leave the key. redis-py may lose the one of the task, as _is_set_within()
        says."""
        self._is_closed = True
        self._task.cancel()


_lines = Lines()


def is_awaited(redis: Any, name: Any, pause: float) -> bool:
    """Whether tasks of this loop wait for it: another one joins them."""
    return (asyncio.get_running_loop(), key_of(redis, name, pause)) in _lines


class Place:
    """The place of one task in a line."""

    def __init__(self, redis: Any, name: Any, pause: float) -> None:
        self._redis, self._name = redis, name
        self._key = asyncio.get_running_loop(), key_of(redis, name, pause)
        self._turn = asyncio.Event()

    async def __aenter__(self) -> 'Place':
        self._line = _lines.enter(self._key, self._turn)
        return self

    async def __aexit__(self, kind: Any, value: Any, trace: Any) -> None:
        listener = _lines.leave(self._key, self._turn)
        if listener is not None:
            listener.close()

    async def comes(self, seconds: Optional[float]) -> bool:
        """Whether this task is the first within that time."""
        return await _is_set_within(self._turn, seconds)

    async def listen(self) -> None:
        """What is released from now on ends the next sleep of this task."""
        if self._line.listener is None:
            self._line.listener = Listener(self._redis, self._name)
        await _is_set_within(self._line.listener.is_ready, CONFIRMED_S)
        self._line.listener.has_come.clear()

    async def sleep(self, pause: Coroutine[Any, Any, Any]) -> None:
        """`pause`, which ends early when the lock is released."""
        both = {begun(pause), begun(self._line.listener.has_come.wait())}
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in both:
                task.cancel()
