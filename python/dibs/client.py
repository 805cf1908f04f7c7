# SPDX-License-Identifier: MIT
"""dibs.client - a client: one set of connections to one deployment, shared by all threads."""
import atexit
import logging
from typing import (
    TYPE_CHECKING, Any, Callable, Dict, List as ListOf, Optional, Sequence, Set as SetOf)

from dibs import callbacks, inspection, log, metrics, names
from dibs._dibs import ffi, lib
from dibs.call import Name, bytes_of, c_name, c_text, do, get, to_ms
from dibs.data import List, Map, Set
from dibs.election import Election
from dibs.errors import Error, check, text_of
from dibs.guard import Guarded
from dibs.inspection import Inspection
from dibs.latch import Barrier, Latch
from dibs.lock import Lock
from dibs.metrics import Metrics
from dibs.names import NameState
from dibs.options import (ClientOptions, LockOptions, lock_target, names_target, open_client,
                          read_target, write_target)
from dibs.rate import RateLimiter
from dibs.semaphore import Semaphore

if TYPE_CHECKING:
    from typing_extensions import Unpack

OPEN: SetOf['Opened'] = set()     # until close() or the end of the process


class Opened:
    """What the blocking and the asyncio client have in common: no call of it waits."""

    handle: Any = ffi.NULL
    _number = 0
    detects_deadlock = False

    def _open(self, url: Optional[str], flags: int, options: Dict[str, Any]) -> None:
        self.handle, self._number = open_client(url, flags, options)
        OPEN.add(self)

    def _close(self) -> None:
        OPEN.discard(self)
        lib.dibs_close(self.handle)
        callbacks.remove(self._number)

    def _info(self) -> Any:
        """The dibs_client_info."""
        found = ffi.new('dibs_client_info *', {'size': ffi.sizeof('dibs_client_info')})
        check(lib.dibs_client_get_info(self.handle, found))
        return found

    @property
    def url(self) -> str:
        """The URL in use, without users and passwords."""
        return text_of(self._info().url)

    @property
    def id(self) -> str:
        """The id of this client, as in Party.client."""
        return text_of(lib.dibs_client_id(self.handle))

    @property
    def is_connected(self) -> bool:
        """Whether a connection to a server is ready now."""
        return bool(lib.dibs_is_connected(self.handle))

    def set_credentials(self, user: Optional[str], password: Optional[str]) -> None:
        """Other credentials for the next connections; None: none."""
        check(lib.dibs_client_set_credentials(
            self.handle, ffi.NULL if user is None else c_text('user', user),
            ffi.NULL if password is None else c_text('password', password)))

    def set_call_timeout(self, seconds: Optional[float]) -> None:
        """The limit of calls that do not wait for a holder; None: that of the connection."""
        do(lib.dibs_client_set_call_timeout, self.handle, to_ms(seconds, option='seconds'))

    def set_log(self, logger: Optional[logging.Logger]) -> None:
        """Gives what happens to connections and locks to `logger`, in the levels that it takes
        now; None: to no logger any more. Records have dibs_event and dibs_fields, a dict."""
        log.set_log(self.handle, logger)

    def stats(self) -> Dict[str, int]:
        """The counters since the client was opened."""
        found = self._info()
        fields: ListOf[str] = [name for name, kind in ffi.typeof('dibs_client_info').fields
                               if kind.type.cname == 'uint64_t']
        return {name: int(getattr(found, name)) for name in fields}

    def metrics(self) -> Metrics:
        """What it counted since it was opened, by class of names; asks no server."""
        return metrics.read(self.handle)

    def metrics_text(self, openmetrics: bool = True, end: bool = True) -> str:
        """The same as a page for Prometheus: OpenMetrics 1.0, or Prometheus' older format. Without
        `end` the last line, # EOF, is left out, and more may follow on the page."""
        return metrics.text(self.handle, openmetrics, end)

    def names(self) -> ListOf[NameState]:
        """The names that it holds, waits for, or keeps lingering; asks no server."""
        return names.read(self.handle)

    def expire_lingering(self, unused: float = 0) -> int:
        """Releases the leases that have lingered for `unused` seconds or longer; how many."""
        return names.expire(self.handle, unused)

    def __reduce__(self) -> Any:
        raise TypeError('a client of dibs belongs to its process: open another one there')

    def __repr__(self) -> str:
        try:
            which = self.url
        except Error as error:                  # closed, or the parent's
            which = '(%s)' % error.text
        return '<%s.Client %s>' % (type(self).__module__.replace('.client', ''), which)


class Client(Opened):
    """A client, open until close() or the end of the process; opening does not wait for the
    server. `url`: as for dibs_open(); None: DIBS_URL and so on. Times are seconds. The other
    options are those of ClientOptions: prefix, user, password, dialect ... `detect_deadlock`:
    waits of owners for each other end with WouldDeadlock."""

    def __init__(self, url: Optional[str] = None, *, detect_deadlock: bool = False,
                 **options: 'Unpack[ClientOptions]') -> None:
        self.detects_deadlock = detect_deadlock
        self._open(url, int(lib.DIBS_CLIENT_DETECT_DEADLOCK) if detect_deadlock else 0,
                   dict(options))

    def close(self) -> None:
        """Releases all holds and ends the client; again does nothing. In a child made by fork
        the parent keeps its holds."""
        self._close()

    def __enter__(self) -> 'Client':
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        self.close()

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

    def semaphore(self, name: Name) -> Semaphore:
        """The semaphore `name`; asks no server, as all of these."""
        return Semaphore(self, name)

    def latch(self, name: Name) -> Latch:
        """The latch `name`."""
        return Latch(self, name)

    def barrier(self, name: Name, parties: int) -> Barrier:
        """The barrier `name`; all parties use the same number."""
        return Barrier(self, name, parties)

    def rate_limiter(self, name: Name) -> RateLimiter:
        """The rate limiter `name`."""
        return RateLimiter(self, name)

    def election(self, name: Name) -> Election:
        """The election `name`."""
        return Election(self, name)

    def guarded(self, key: Name) -> Guarded:
        """Your own key, for guarded writes."""
        return Guarded(self, key)

    def map(self, name: Name) -> Map:
        """The map `name`."""
        return Map(self, name)

    def list(self, name: Name) -> List:
        """The list `name`."""
        return List(self, name)

    def set(self, name: Name) -> Set:
        """The set `name`."""
        return Set(self, name)

    def inspect(self, name: Name) -> Inspection:
        """The state of a lock or semaphore on the server: who holds it, who waits."""
        return inspection.inspect(self.handle, c_name(name))

    def locks(self, pattern: Optional[Name] = None) -> ListOf[Inspection]:
        """The locks under the client's prefix whose names match a glob, by SCAN."""
        return inspection.list_all(self.handle, pattern)

    def each_lock(self, visit: Callable[[Inspection], Optional[bool]],
                  pattern: Optional[Name] = None) -> None:
        """As locks(), one at a time, until `visit` returns False; it may not call the client."""
        inspection.list_locks(self.handle, pattern, visit)

    def break_lock(self, name: Name, lease: str) -> None:
        """Breaks a lock of its holder: that very lease, of inspect(). For administrators."""
        chars = c_name(name)
        do(lib.dibs_break, self.handle, bytes_of(chars), c_text('lease', lease))

    def renew(self, token: str, ttl: float) -> float:
        """Extends the lease of a token to `ttl` seconds from now; what it has now. Lost, Expired,
        Taken: it is gone."""
        return int(get('int64_t', lib.dibs_token_renew, self.handle, c_text('token', token),
                       to_ms(ttl))) / 1000

    def release(self, token: str) -> None:
        """Releases the lease of a token."""
        do(lib.dibs_token_release, self.handle, c_text('token', token))

    def ping(self, wait: Optional[float] = None) -> float:
        """The round trip time to the server, in seconds."""
        return int(get('uint64_t', lib.dibs_ping, self.handle, to_ms(wait))) / 1e6


@atexit.register
def _close_all() -> None:
    """The end of the interpreter releases what is held; a forked child owns nothing."""
    for client in list(OPEN):
        client._close()
