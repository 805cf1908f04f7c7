# SPDX-License-Identifier: MIT
"""dibs.lock - how one lock is requested: blocking, and so that Ctrl-C ends the wait."""
import os
import threading
import time
from typing import TYPE_CHECKING, Any, Callable, Dict, Generic, Type, TypeVar

from dibs._dibs import ffi, lib
from dibs.call import signals_reach_here, wait_interruptibly
from dibs.errors import Busy, TimedOut, check
from dibs.hold import Hold, Watch, leave, left
from dibs.options import LockCall, Target

if TYPE_CHECKING:
    from dibs.client import Opened


class Owner(threading.local):
    """The re-entry key of a thread: its own, because the system gives thread ids again."""

    def __init__(self) -> None:
        self.key = ffi.from_buffer(os.urandom(16))


OWNER = Owner()
H = TypeVar('H', bound=Hold)
FOREVER = int(lib.DIBS_FOREVER)
GRANTED = ffi.typeof('dibs_hold **')


class Request(Generic[H]):
    """How to request one lock: what Lock and Campaign have in common."""

    _kind: Type[H]

    def __init__(self, client: 'Opened', target: Target, options: Dict[str, Any]) -> None:
        self._client, self._target = client, target
        self._arguments = (client.handle, target.c)
        self._options = LockCall(options)
        self._owner = OWNER if options.get('owned', True) else None
        # Of the blocks that use this object, whose end releases them: a signal may raise before the
        # first line of __exit__(), and `with ... as hold` keeps the hold, but not this object.
        self._holds: Dict[H, Any] = {}

    def acquire(self) -> H:
        """Acquires it, waiting at most `wait` seconds. Raises TimedOut (Busy of try_acquire())
        if another client holds it, Unreachable ..."""
        return self._waited(False)

    def try_acquire(self) -> H:
        """As acquire(), but never waits for another holder: Busy."""
        return self._hold(self._acquire_at_once, False)

    def _waited(self, is_block: bool) -> H:
        try:
            return self._hold(self._acquire, is_block)
        except Busy as error:                        # wait=0
            raise TimedOut(error.text, int(lib.DIBS_TIMED_OUT), error.server) from None

    def _hold(self, acquire: Callable[[Watch, Any], None], is_block: bool) -> H:
        """A signal may raise between the grant and the return: what no caller gets is released."""
        watch, granted = self._options.watch(), ffi.new(GRANTED)
        try:
            acquire(watch, granted)
            hold = self._kind(granted[0], watch)
            if is_block:
                hold._entered_by = OWNER.key
                self._holds[hold] = ffi.gc(granted[0], lib.dibs_py_ended)
            return hold
        except BaseException:
            watch.end()
            if granted[0] != ffi.NULL:
                lib.dibs_release(granted[0])
            for hold in [hold for hold in list(self._holds) if hold._watch is watch]:
                del self._holds[hold]
            raise

    def _call(self, call: Any, watch: Watch, wait_ms: int, *more: Any) -> int:
        return self._options.call(call, self._arguments, watch.number, wait_ms,
                                  None if self._owner is None else self._owner.key, *more)

    def _acquire_at_once(self, watch: Watch, granted: Any) -> None:
        check(self._call(lib.dibs_acquire, watch, 0, granted))

    def _acquire(self, watch: Watch, granted: Any) -> None:
        wait_ms = self._options.wait_ms
        if not signals_reach_here() or wait_ms <= 0 or self._client.detects_deadlock:
            check(self._call(lib.dibs_acquire, watch, wait_ms, granted))
            return
        is_limited = wait_ms != FOREVER
        end = time.monotonic() + wait_ms / 1000 if is_limited else 0.0
        # First without a callback, which is faster. That has the limit of a call.
        if (lib.dibs_is_connected(self._client.handle)
                and wait_ms >= lib.dibs_client_call_timeout(self._client.handle)
                and self._call(lib.dibs_acquire, watch, 0, granted) == 0):
            return
        if is_limited:
            wait_ms = max(1, min(wait_ms, int((end - time.monotonic()) * 1000)))

        def receive(hold: Any) -> None:
            granted[0] = hold

        wait_interruptibly(lambda data, request: self._call(
            lib.dibs_acquire_async, watch, wait_ms, lib.dibs_py_locked, data, request), receive)

    def __enter__(self) -> H:
        return self._waited(True)

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        try:
            hold = left(self._holds, OWNER.key)
            leave(hold, value)
        except BaseException:                        # also a signal's, before the release
            hold = left(self._holds, OWNER.key)
            hold._let_go()
            self._holds.pop(hold, None)
            raise
        del self._holds[hold]


class Lock(Request[Hold]):
    """How to request one lock; client.lock() and the like make it. `with` acquires it and gives
    the Hold; nested blocks and other threads may use the same object. Its blocks of one thread end
    in reverse order: generators that end in another order each need an object of their own."""

    _kind = Hold
