# SPDX-License-Identifier: MIT
"""dibs.latch - count-down latches and barriers."""
from dataclasses import dataclass
from typing import Any, Optional

from dibs._dibs import ffi, lib
from dibs.call import (Named, c_text, called, signals_reach_here, to_ms, wait_interruptibly,
                       wait_options, wait_plainly)
from dibs.errors import check


def id_text(id: Optional[str]) -> Any:
    return ffi.NULL if id is None else c_text('id', id)


class Latch(Named):
    """A count that others wait for to reach zero; client.latch() makes it. The same key as
    Redisson's RCountDownLatch."""

    def set(self, count: int) -> None:
        """Arms it with a count. Busy, and nothing is changed, if it is armed."""
        self._do(lib.dibs_latch_set, count)

    def down(self, count: int = 1, id: Optional[str] = None) -> int:
        """Counts down, to zero at most; what is left. The same `id` counts once. NotSet: it is
        not armed."""
        return int(self._get('int64_t', lib.dibs_latch_down, count, id_text(id)))

    @property
    def count(self) -> int:
        """The count; 0 for a latch that is not armed. Asks the server."""
        return int(self._get('int64_t', lib.dibs_latch_count))

    def delete(self) -> None:
        """Disarms it; waiters wait until it is armed again and reaches zero."""
        self._do(lib.dibs_latch_delete)

    def wait(self, wait: Optional[float] = None) -> None:
        """Waits until it is at zero, or not armed; at most `wait` seconds: TimedOut."""
        wait_plainly(self._client, wait, lib.dibs_latch_await, lib.dibs_latch_await_async,
                     self._name)


@dataclass(frozen=True)
class Round:
    """A round of a barrier. `index`: the order of arrival of this party, from 0."""
    generation: int
    parties: int
    arrived: int
    index: int
    is_broken: bool


def read_round(info: Any) -> Round:
    return Round(int(info.generation), int(info.parties), int(info.arrived), int(info.index),
                 bool(info.is_broken))


def barrier_info() -> Any:
    info = ffi.new('dibs_barrier_info *')
    info.size = ffi.sizeof('dibs_barrier_info')
    return info


class Barrier(Named):
    """`parties` programs that wait for each other, in rounds; client.barrier() makes it."""

    def __init__(self, client: Any, name: Any, parties: int) -> None:
        super().__init__(client, name)
        self.parties = parties

    def wait(self, wait: Optional[float] = None) -> Round:
        """Arrives and waits for the others. Broken: one gave up, or died; TimedOut: this one
        gave up, which breaks the round for the others."""
        options, info = wait_options(to_ms(wait, int(lib.DIBS_FOREVER), 'wait')), barrier_info()
        if wait == 0 or not signals_reach_here():
            check(called(lib.dibs_barrier_await, self._client.handle, self._name, self.parties,
                         options, info))
            return read_round(info)

        def receive(passed: Any) -> None:
            if passed != ffi.NULL:
                ffi.memmove(info, passed, ffi.sizeof('dibs_barrier_info'))

        wait_interruptibly(lambda data, request: called(
            lib.dibs_barrier_await_async, self._client.handle, self._name, self.parties, options,
            lib.dibs_py_passed, data, request), receive)
        return read_round(info)

    def reset(self) -> None:
        """Makes a broken barrier usable again, and breaks a round in progress."""
        self._do(lib.dibs_barrier_reset)

    def get(self) -> Round:
        """Its present state. NotSet: it was not used for an hour."""
        info = barrier_info()
        self._do(lib.dibs_barrier_get, info)
        return read_round(info)
