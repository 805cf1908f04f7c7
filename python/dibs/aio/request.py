# SPDX-License-Identifier: MIT
"""dibs.aio.request - a request of the library that a task awaits, and the loop that drives it."""
import asyncio
import os
import threading
from typing import Any, Awaitable, Callable, Optional, TypeVar

from dibs import callbacks
from dibs._dibs import ffi, lib
from dibs.call import bytes_of, called, do, get
from dibs.client import Opened
from dibs.errors import check, error_of

T = TypeVar('T')


class Driven(Opened):
    """A client that an event loop drives: the one in which it is used first."""

    _loop: Optional[asyncio.AbstractEventLoop] = None
    _thread = 0
    _pid = 0

    def loop(self) -> asyncio.AbstractEventLoop:
        """The running loop, which watches the client's descriptor from now on."""
        if os.getpid() != self._pid:
            raise error_of(int(lib.DIBS_ERR_FORKED))
        running = asyncio.get_running_loop()
        if self._loop is None:
            descriptor = int(lib.dibs_fd(self.handle))
            if descriptor >= 0:                 # else the call that follows says why
                running.add_reader(descriptor, self._ready, running, descriptor)
                self._loop, self._thread = running, threading.get_ident()
                self._descriptor = descriptor
        elif self._loop is not running:
            closed = ', which is closed' if self._loop.is_closed() else ''
            raise RuntimeError('dibs: this client belongs to another event loop%s: open one in '
                               'each loop' % closed)
        return running

    def _ready(self, loop: asyncio.AbstractEventLoop, descriptor: int) -> None:
        status = lib.dibs_process(self.handle, ffi.NULL)
        if status not in (lib.DIBS_OK, lib.DIBS_ERR_WOULD_BLOCK):
            loop.remove_reader(descriptor)      # a forked child, or closed meanwhile

    def in_loop(self, function: Callable[..., object], *arguments: Any) -> None:
        """Runs it in the loop: at once, except in a callback of dibs_close() on another thread.
        After the end of the loop, nowhere."""
        if self._loop is None or self._loop.is_closed():
            return
        if threading.get_ident() == self._thread:
            function(*arguments)
        else:
            self._loop.call_soon_threadsafe(function, *arguments)

    async def in_thread(self, function: Callable[[], T]) -> T:
        """A call without an asynchronous form."""
        return await self.loop().run_in_executor(None, function)

    async def close(self) -> None:
        """Releases all holds and ends the client; again does nothing. dibs_close() waits for the
        server, and so runs on the loop's executor."""
        if os.getpid() != self._pid:             # the loop of a child is its parent's, too
            self._close()
            return
        loop = asyncio.get_running_loop()
        if self._loop is loop:
            loop.remove_reader(self._descriptor)
        try:
            over = loop.run_in_executor(None, self._close)
        except RuntimeError:                    # the executor is shut down
            self._close()
            return
        await asyncio.shield(over)


def settle(future: 'asyncio.Future[Any]', value: Any, exception: Optional[BaseException]) -> None:
    if future.done():
        return
    if exception is not None:
        future.set_exception(exception)
    else:
        future.set_result(value)


async def request(client: Driven, start: Callable[[Any, Any], int],
                  receive: Callable[..., Any] = lambda *result: None,
                  give_back: Callable[[Any], None] = lambda value: None) -> Any:
    """`start(data, request)` begins it; `receive` makes the value from what the callback brings
    beside the error. A cancelled task cancels it; a value that came all the same, and no task
    gets, goes to `give_back`."""
    future = client.loop().create_future()
    handle = ffi.new('dibs_request **')

    def ended(error: Any, *result: Any) -> None:
        callbacks.remove(number)
        try:
            if error.status != lib.DIBS_OK:
                raise error_of(error.status, error)
            value = receive(*result)
        except BaseException as exception:      # also a signal's: the task must not wait forever
            client.in_loop(settle, future, None, exception)
            return
        if future.done() or client._loop is None or client._loop.is_closed():
            give_back(value)
        else:
            client.in_loop(settle, future, value, None)

    number = callbacks.add(ended)
    status = start(callbacks.pointer(number), handle)
    if status != lib.DIBS_OK:
        callbacks.remove(number)
        check(status)
    try:
        return await future
    except BaseException:                       # cancelled, or the coroutine is closed
        client.in_loop(future.cancel)
        if future.cancelled() or not future.done():
            if handle[0] != ffi.NULL:
                lib.dibs_request_cancel(handle[0])
        elif future.exception() is None:        # it was granted, and the task cancelled after it
            give_back(future.result())
        raise


def over(client: Driven, start: Callable[[Any], int]) -> Awaitable[Any]:
    """A request that cannot be cancelled: its end is awaited, or happens without the task."""
    return request(client, lambda data, handle: start(data))


class Named:
    """A synchronizer of one name, through one client."""

    def __init__(self, client: Driven, name: Any) -> None:
        self._client, self._name = client, name

    async def _over(self, start: Any, *arguments: Any) -> None:
        """A call with an asynchronous form, which has no result."""
        await request(self._client, lambda data, handle: called(
            start, self._client.handle, self._name, *arguments, lib.dibs_py_over, data, handle))

    async def _number(self, start: Any, *arguments: Any) -> int:
        """The same, whose result is a number."""
        number: int = await request(self._client, lambda data, handle: called(
            start, self._client.handle, self._name, *arguments, lib.dibs_py_number, data, handle),
            int)
        return number

    async def _do(self, function: Any, *arguments: Any) -> None:
        await self._client.in_thread(
            lambda: do(function, self._client.handle, self._name, *arguments))

    async def _do_bytes(self, function: Any, *arguments: Any) -> None:
        await self._client.in_thread(
            lambda: do(function, self._client.handle, bytes_of(self._name), *arguments))

    async def _get(self, kind: str, function: Any, *arguments: Any) -> Any:
        return await self._client.in_thread(
            lambda: get(kind, function, self._client.handle, self._name, *arguments))

    def __repr__(self) -> str:
        return '<dibs.aio.%s %r>' % (type(self).__name__, ffi.string(self._name))
