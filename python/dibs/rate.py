# SPDX-License-Identifier: MIT
"""dibs.rate - rate limiters: at most N permits in each interval."""
from typing import Any, NamedTuple, Optional

from dibs._dibs import ffi, lib
from dibs.call import Named, called, to_ms, wait_options, wait_plainly, within
from dibs.errors import Busy, TimedOut, check
from dibs.options import one_of

HOW = {'if_absent': lib.DIBS_RATE_IF_ABSENT, 'reset': lib.DIBS_RATE_RESET,
       'update': lib.DIBS_RATE_UPDATE}


class Rate(NamedTuple):
    """What a limiter allows: `permits` in each `interval`, in seconds. `keepalive`: it is deleted
    that long after its last request, 0 never. `per_client`: each client has its own."""
    permits: int
    interval: float
    keepalive: float = 0
    per_client: bool = False


def c_rate(rate: Optional[Rate] = None) -> Any:
    made = ffi.new('dibs_rate *')
    made.size = ffi.sizeof('dibs_rate')
    if rate is not None:
        made.permits = within('permits are', rate.permits, 1, 1000000000)
        made.interval_ms = within('milliseconds of interval are', to_ms(rate.interval), 1, 1 << 53)
        made.keepalive_ms = within('milliseconds of keepalive are', to_ms(rate.keepalive), 0, 1 << 53)
        made.type = lib.DIBS_RATE_PER_CLIENT if rate.per_client else lib.DIBS_RATE_OVERALL
    return made


def read_rate(rate: Any) -> Rate:
    return Rate(int(rate.permits), rate.interval_ms / 1000, rate.keepalive_ms / 1000,
                rate.type == lib.DIBS_RATE_PER_CLIENT)


def c_how(how: str) -> int:
    return one_of('how', HOW, how)


def acquire_blocking(*arguments: Any) -> int:
    return called(lib.dibs_rate_limiter_acquire, *arguments, ffi.NULL)


def try_acquire(*target: Any) -> float:
    left = ffi.new('int64_t *')
    status = called(lib.dibs_rate_limiter_acquire, *target, wait_options(0), left)
    if status == lib.DIBS_BUSY:
        return int(left[0]) / 1000
    check(status)
    return 0.0


def timed_out(error: Busy) -> TimedOut:
    return TimedOut(error.text, int(lib.DIBS_TIMED_OUT), error.server)


class RateLimiter(Named):
    """Permits that are used up, and return after an interval; client.rate_limiter() makes it.
    The same key as Redisson's RRateLimiter. Before a rate is set, requests raise NotSet."""

    def set(self, permits: int, interval: float, *, keepalive: float = 0,
            per_client: bool = False, how: str = 'if_absent') -> None:
        """Sets the rate. `how`: if_absent (Busy if there is one), reset (forgets what was taken),
        update (NotSet if there is none)."""
        self._do(lib.dibs_rate_limiter_set,
                 c_rate(Rate(permits, interval, keepalive, per_client)), c_how(how))

    def acquire(self, permits: int = 1, wait: Optional[float] = None) -> None:
        """Takes permits, all or none, when the rate allows; TimedOut after `wait` seconds."""
        try:
            wait_plainly(self._client, wait, acquire_blocking,
                         lib.dibs_rate_limiter_acquire_async, self._name, permits)
        except Busy as error:                        # wait=0
            raise timed_out(error) from None

    def try_acquire(self, permits: int = 1) -> float:
        """Takes permits if the rate allows them now, and returns 0.0; else the seconds after
        which there will be some, if no other client takes them."""
        return try_acquire(self._client.handle, self._name, permits)

    def release(self, permits: int = 1) -> int:
        """Returns unused permits, the oldest first; how many were returned."""
        return int(self._get('int64_t', lib.dibs_rate_limiter_release, permits))

    @property
    def available(self) -> int:
        """How many permits are free now. Asks the server."""
        return int(self._get('int64_t', lib.dibs_rate_limiter_get, ffi.NULL))

    @property
    def rate(self) -> Rate:
        """The rate that is set. Asks the server."""
        found = c_rate()
        self._do(lib.dibs_rate_limiter_get, found, ffi.NULL)
        return read_rate(found)

    def delete(self) -> None:
        """Deletes it, with the record of taken permits."""
        self._do(lib.dibs_rate_limiter_delete)
