# SPDX-License-Identifier: MIT
"""dibs.aio.named - semaphores, latches, barriers, rate limiters, guarded writes for asyncio; each
as in the module of the same name without aio."""
import contextlib
from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence, Tuple

from dibs._dibs import ffi, lib
from dibs.aio.lock import Hold, Lock
from dibs.aio.request import Driven, Named, request
from dibs.call import Data, Name, called, c_name, c_text, to_bytes, to_ms, wait_options
from dibs.errors import Busy
from dibs.guard import c_fields, c_names, read_guarded
from dibs.latch import Round, barrier_info, id_text, read_round
from dibs.options import LockOptions, all_free_target, permits_target
from dibs.rate import Rate, c_how, c_rate, read_rate, timed_out, try_acquire

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Semaphore(Named):
    """A number of permits, the same for all clients; client.semaphore() makes it. With a count,
    client.semaphore(name, 2), `async with` takes that many permits."""

    def __init__(self, client: Driven, name: Name, count: int, options: Any) -> None:
        super().__init__(client, c_name(name))
        self._lock = Lock(client, permits_target(self._name, count), options)

    async def set(self, permits: int) -> None:
        """Sets how many permits there are; 0 is a pause."""
        await self._do_bytes(lib.dibs_semaphore_set, permits, 0, ffi.NULL)

    async def set_if_absent(self, permits: int) -> int:
        """Sets it if it has no number yet; the number that it has."""
        now = ffi.new('uint32_t *')
        await self._do_bytes(lib.dibs_semaphore_set, permits, lib.DIBS_SEMAPHORE_IF_ABSENT, now)
        return int(now[0])

    async def delete(self) -> None:
        """Deletes it, also if there is none. Busy: it has holders or waiters."""
        await self._do_bytes(lib.dibs_semaphore_delete)

    def permits(self, count: int = 1, **options: 'Unpack[LockOptions]') -> Lock:
        """`count` permits together, in one hold; options as client.lock()."""
        return Lock(self._client, permits_target(self._name, count), dict(options))

    async def drain(self, **options: 'Unpack[LockOptions]') -> Hold:
        """All permits that are free, at least one, in one hold; never waits: Busy."""
        lock = Lock(self._client, all_free_target(self._name), dict(options))
        return await lock.try_acquire()

    async def __aenter__(self) -> Hold:
        return await self._lock.__aenter__()

    async def __aexit__(self, kind: Any, value: Any, trace: Any) -> None:
        await self._lock.__aexit__(kind, value, trace)


def waits(wait: Optional[float]) -> Any:
    return wait_options(to_ms(wait, int(lib.DIBS_FOREVER), 'wait'))


class Latch(Named):
    """A count that others wait for to reach zero; client.latch() makes it."""

    async def set(self, count: int) -> None:
        """Arms it with a count. Busy, and nothing is changed, if it is armed."""
        await self._over(lib.dibs_latch_set_async, count)

    async def down(self, count: int = 1, id: Optional[str] = None) -> int:
        """Counts down, to zero at most; what is left. The same `id` counts once."""
        return await self._number(lib.dibs_latch_down_async, count, id_text(id))

    async def count(self) -> int:
        """The count; 0 for a latch that is not armed."""
        return await self._number(lib.dibs_latch_count_async)

    async def delete(self) -> None:
        """Disarms it; waiters wait until it is armed again and reaches zero."""
        await self._do(lib.dibs_latch_delete)

    async def wait(self, wait: Optional[float] = None) -> None:
        """Waits until it is at zero, or not armed; at most `wait` seconds: TimedOut."""
        await self._over(lib.dibs_latch_await_async, waits(wait))


class Barrier(Named):
    """`parties` programs that wait for each other, in rounds; client.barrier() makes it."""

    def __init__(self, client: Driven, name: Any, parties: int) -> None:
        super().__init__(client, name)
        self.parties = parties

    async def wait(self, wait: Optional[float] = None) -> Round:
        """Arrives and waits for the others. Broken: one gave up, or died. TimedOut, or a cancelled
        task: this one gave up, which breaks the round for the others."""
        options = waits(wait)
        passed: Round = await request(
            self._client, lambda data, handle: called(
                lib.dibs_barrier_await_async, self._client.handle, self._name, self.parties,
                options, lib.dibs_py_passed, data, handle), read_round)
        return passed

    async def reset(self) -> None:
        """Makes a broken barrier usable again, and breaks a round in progress."""
        await self._do(lib.dibs_barrier_reset)

    async def get(self) -> Round:
        """Its present state. NotSet: it was not used for an hour."""
        info = barrier_info()
        await self._do(lib.dibs_barrier_get, info)
        return read_round(info)


class RateLimiter(Named):
    """Permits that are used up, and return after an interval; client.rate_limiter() makes it."""

    async def set(self, permits: int, interval: float, *, keepalive: float = 0,
                  per_client: bool = False, how: str = 'if_absent') -> None:
        """Sets the rate. `how`: if_absent (Busy if there is one), reset, update."""
        await self._do(lib.dibs_rate_limiter_set,
                       c_rate(Rate(permits, interval, keepalive, per_client)), c_how(how))

    async def acquire(self, permits: int = 1, wait: Optional[float] = None) -> None:
        """Takes permits, all or none, when the rate allows; TimedOut after `wait` seconds."""
        options = waits(wait)
        try:
            await request(
                self._client, lambda data, handle: called(
                    lib.dibs_rate_limiter_acquire_async, self._client.handle, self._name, permits,
                    options, lib.dibs_py_over, data, handle),
                give_back=lambda value: self._client.in_loop(self._give_back, permits))
        except Busy as error:                        # wait=0
            raise timed_out(error) from None

    def _give_back(self, permits: int) -> None:
        with contextlib.suppress(RuntimeError):      # the loop, or its executor, has ended
            self._client.loop().run_in_executor(None, lib.dibs_rate_limiter_release,
                                                self._client.handle, self._name, permits, ffi.NULL)

    async def try_acquire(self, permits: int = 1) -> float:
        """Takes permits if the rate allows them now, and returns 0.0; else the seconds after
        which there will be some, if no other client takes them."""
        return await self._client.in_thread(
            lambda: try_acquire(self._client.handle, self._name, permits))

    async def release(self, permits: int = 1) -> int:
        """Returns unused permits, the oldest first; how many were returned."""
        return int(await self._get('int64_t', lib.dibs_rate_limiter_release, permits))

    async def available(self) -> int:
        """How many permits are free now."""
        return int(await self._get('int64_t', lib.dibs_rate_limiter_get, ffi.NULL))

    async def rate(self) -> Rate:
        """The rate that is set."""
        found = c_rate()
        await self._do(lib.dibs_rate_limiter_get, found, ffi.NULL)
        return read_rate(found)

    async def delete(self) -> None:
        """Deletes it, with the record of taken permits."""
        await self._do(lib.dibs_rate_limiter_delete)


class Guarded(Named):
    """Your own key, written only with a fence that is not older than the last one applied;
    client.guarded() makes it. Fenced: nothing was written, and your hold has ended."""

    async def set(self, fence: int, value: Data, ttl: Optional[float] = None) -> None:
        """Sets a string, with a time to live in seconds, or without."""
        data = to_bytes(value)
        await self._over(lib.dibs_guarded_set_async, fence, ffi.from_buffer(data), len(data),
                         to_ms(ttl))

    async def get(self) -> Tuple[Optional[bytes], int]:
        """The string, or None, and the highest fence of a guarded write (0: none), of one moment."""
        return await self._client.in_thread(
            lambda: read_guarded(lib.dibs_guarded_get, self._client.handle, self._name))

    async def hget(self, name: str) -> Tuple[Optional[bytes], int]:
        """A field of a hash, or None, and the highest fence of the hash, of one moment."""
        field = c_text('field', name)
        return await self._client.in_thread(
            lambda: read_guarded(lib.dibs_guarded_hget, self._client.handle, self._name, field))

    async def hset(self, fence: int, fields: Mapping[str, Data]) -> None:
        """Sets fields of a hash at once, 1 to 1000 of them."""
        made, keep = c_fields(fields)
        await self._over(lib.dibs_guarded_hset_async, fence, made, len(fields))
        del keep

    async def hdel(self, fence: int, names: Sequence[str]) -> None:
        """Removes fields of a hash, up to 1000 at once."""
        made, keep = c_names(names)
        await self._over(lib.dibs_guarded_hdel_async, fence, made, len(keep))

    async def delete(self, fence: int) -> None:
        """Removes the key; its fence is kept for a day."""
        await self._over(lib.dibs_guarded_del_async, fence)

    async def incr(self, fence: int, by: int = 1) -> int:
        """Adds to the number in the key; the new number. After Unknown, repeat the same call, within
        58 minutes: later it is Unknown, and sends nothing, until the key is set or deleted."""
        return await self._number(lib.dibs_guarded_incr_async, fence, by)
