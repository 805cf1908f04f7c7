# SPDX-License-Identifier: MIT
"""dibs.aio.lock - locks that a task awaits, and their holds."""
import asyncio
from typing import Any, Dict, Generic, List, Type, TypeVar

from dibs._dibs import ffi, lib
from dibs.aio.request import Driven, over, request
from dibs.errors import Busy, TimedOut
from dibs.hold import Held, Watch, left
from dibs.options import LockCall, Target


class Hold(Held):
    """A granted lock of a loop. Release it, or use it in an `async with` statement."""

    _client: Driven

    @property
    def lost(self) -> asyncio.Event:
        """Is set when the library reports that the hold is lost."""
        event: asyncio.Event = self._watch.event_of(asyncio.Event)
        return event

    async def release(self) -> None:
        """Releases it. Raises Lost or Taken if it had ended before, and Unknown if the server did
        not confirm in time. A cancelled task does not wait for the answer."""
        self._watch.end()
        await over(self._client, lambda data: int(
            lib.dibs_release_async(self._handle, lib.dibs_py_over, data)))

    async def __aenter__(self) -> 'Hold':
        return self

    async def __aexit__(self, kind: Any, value: Any, trace: Any) -> None:
        await leave(self, value)


async def leave(hold: Hold, value: Any) -> None:
    """The end of a block: an exception of the block is not replaced by that of the release."""
    try:
        await hold.release()
    except Exception:
        if value is None:
            raise


H = TypeVar('H', bound=Hold)


class Request(Generic[H]):
    """How to request one lock: what Lock and Campaign have in common."""

    _kind: Type[H]

    def __init__(self, client: Driven, target: Target, options: Dict[str, Any]) -> None:
        self._client, self._target = client, target
        self._arguments = (client.handle, target.c)
        self._options = LockCall(options)
        self._holds: List[H] = []                    # of the blocks that use this object

    async def acquire(self) -> H:
        """Acquires it, waiting at most `wait` seconds. Raises TimedOut (Busy of try_acquire())
        if another task or client holds it, Unreachable ..."""
        try:
            return await self._acquire(self._options.wait_ms)
        except Busy as error:                        # wait=0
            raise TimedOut(error.text, int(lib.DIBS_TIMED_OUT), error.server) from None

    async def try_acquire(self) -> H:
        """As acquire(), but never waits for another holder: Busy."""
        return await self._acquire(0)

    async def _acquire(self, wait_ms: int) -> H:
        watch = self._options.watch()

        def made(handle: Any) -> H:
            return self._made(handle, watch)

        try:
            hold: H = await request(
                self._client, lambda data, handle: self._options.call(
                    lib.dibs_acquire_async, self._arguments, watch.number, wait_ms, None,
                    lib.dibs_py_locked, data, handle),
                made, _give_back)
        except BaseException:
            watch.end()
            raise
        return hold

    def _made(self, handle: Any, watch: Watch) -> H:
        hold = self._kind(handle, watch)
        hold._client = self._client
        return hold

    async def __aenter__(self) -> H:
        hold = await self.acquire()
        hold._entered_by = asyncio.current_task()
        self._holds.append(hold)
        return hold

    async def __aexit__(self, kind: Any, value: Any, trace: Any) -> None:
        hold = left(self._holds, asyncio.current_task())
        self._holds.remove(hold)
        await leave(hold, value)


def _give_back(hold: Any) -> None:
    lib.dibs_release_async(hold._handle, ffi.NULL, ffi.NULL)


class Lock(Request[Hold]):
    """How to request one lock; client.lock() and the like make it. `async with` acquires it and
    gives the Hold; tasks may use the same object. Tasks do not re-enter: each waits its turn. Its
    blocks of one task end in reverse order: generators that end in another order each need an
    object of their own."""

    _kind = Hold
