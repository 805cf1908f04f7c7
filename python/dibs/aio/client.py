# SPDX-License-Identifier: MIT
"""dibs.aio.client - a client for asyncio: the loop drives it, and no thread does."""
import os
from typing import TYPE_CHECKING, Any, List as ListOf, Optional, Sequence

from dibs import inspection
from dibs._dibs import lib
from dibs.aio.data import List, Map, Set
from dibs.aio.election import Election
from dibs.aio.lock import Lock
from dibs.aio.named import Barrier, Guarded, Latch, RateLimiter, Semaphore
from dibs.aio.request import Driven
from dibs.call import Name, bytes_of, c_name, c_text, do, get, to_ms
from dibs.inspection import Inspection
from dibs.options import (ClientOptions, LockOptions, lock_target, names_target, read_target,
                          write_target)

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Client(Driven):
    """A client of one event loop, the one in which it is used first; open until close(). Opening
    does not wait for the server. `url` and options as dibs.Client."""

    def __init__(self, url: Optional[str] = None, **options: 'Unpack[ClientOptions]') -> None:
        self._pid = os.getpid()
        self._open(url, int(lib.DIBS_CLIENT_NO_THREAD), dict(options))

    async def __aenter__(self) -> 'Client':
        self.loop()
        return self

    async def __aexit__(self, kind: Any, value: Any, trace: Any) -> None:
        await self.close()

    def lock(self, name: Name, **options: 'Unpack[LockOptions]') -> Lock:
        """An exclusive lock; options: LockOptions, as wait, ttl, on_lost."""
        return Lock(self, lock_target(name), dict(options))

    def read_lock(self, name: Name, **options: 'Unpack[LockOptions]') -> Lock:
        """The lock `name` for reading; options as lock()."""
        return Lock(self, read_target(name), dict(options))

    def write_lock(self, name: Name, **options: 'Unpack[LockOptions]') -> Lock:
        """The lock `name` for writing; options as lock()."""
        return Lock(self, write_target(name), dict(options))

    def lock_many(self, names: Sequence[Name], **options: 'Unpack[LockOptions]') -> Lock:
        """All locks of `names`, or none; options as lock()."""
        return Lock(self, names_target(names), dict(options))

    def semaphore(self, name: Name, count: int = 1,
                  **options: 'Unpack[LockOptions]') -> Semaphore:
        """The semaphore `name`; `async with` takes `count` permits, with options as lock()."""
        return Semaphore(self, name, count, dict(options))

    def latch(self, name: Name) -> Latch:
        """The latch `name`."""
        return Latch(self, c_name(name))

    def barrier(self, name: Name, parties: int) -> Barrier:
        """The barrier `name`; all parties use the same number."""
        return Barrier(self, c_name(name), parties)

    def rate_limiter(self, name: Name) -> RateLimiter:
        """The rate limiter `name`."""
        return RateLimiter(self, c_name(name))

    def election(self, name: Name) -> Election:
        """The election `name`."""
        return Election(self, c_name(name))

    def guarded(self, key: Name) -> Guarded:
        """Your own key, for guarded writes."""
        return Guarded(self, c_name(key))

    def map(self, name: Name) -> Map:
        """The map `name`."""
        return Map(self, name)

    def list(self, name: Name) -> List:
        """The list `name`."""
        return List(self, name)

    def set(self, name: Name) -> Set:
        """The set `name`."""
        return Set(self, name)

    async def inspect(self, name: Name) -> Inspection:
        """The state of a lock or semaphore on the server: who holds it, who waits."""
        chars = c_name(name)
        return await self.in_thread(lambda: inspection.inspect(self.handle, chars))

    async def locks(self, pattern: Optional[Name] = None) -> ListOf[Inspection]:
        """The locks under the client's prefix whose names match a glob, by SCAN."""
        return await self.in_thread(lambda: inspection.list_all(self.handle, pattern))

    async def break_lock(self, name: Name, lease: str) -> None:
        """Breaks a lock of its holder: that very lease, of inspect(). For administrators."""
        chars, which = c_name(name), c_text('lease', lease)
        await self.in_thread(lambda: do(lib.dibs_break, self.handle, bytes_of(chars), which))

    async def renew(self, token: str, ttl: float) -> float:
        """Extends the lease of a token to `ttl` seconds from now; what it has now."""
        chars = c_text('token', token)
        return int(await self.in_thread(lambda: get(
            'int64_t', lib.dibs_token_renew, self.handle, chars, to_ms(ttl)))) / 1000

    async def release(self, token: str) -> None:
        """Releases the lease of a token."""
        chars = c_text('token', token)
        await self.in_thread(lambda: do(lib.dibs_token_release, self.handle, chars))

    async def ping(self, wait: Optional[float] = None) -> float:
        """The round trip time to the server, in seconds."""
        return int(await self.in_thread(lambda: get(
            'uint64_t', lib.dibs_ping, self.handle, to_ms(wait)))) / 1e6
