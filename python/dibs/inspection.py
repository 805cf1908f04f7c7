# SPDX-License-Identifier: MIT
"""dibs.inspection - the state of a name on the server, and the names that this client has."""
from typing import Any, Callable, List, NamedTuple, Optional

from dibs._dibs import ffi, lib
from dibs.call import Data, Name, bytes_of, c_name, get, to_bytes, walk
from dibs.errors import check, text_of

KINDS = {lib.DIBS_KIND_MUTEX: 'mutex', lib.DIBS_KIND_RWLOCK: 'rwlock',
         lib.DIBS_KIND_SEMAPHORE: 'semaphore'}
MODES = {lib.DIBS_MODE_EXCLUSIVE: 'exclusive', lib.DIBS_MODE_READ: 'read',
         lib.DIBS_MODE_PERMITS: 'permits'}


class Party(NamedTuple):
    """A client that holds or waits. `waited`: seconds since it queued, or since the grant."""
    client: str
    host: str
    pid: int
    program: str
    version: str
    note: str
    waited: float
    mode: str
    units: int


class Holder(NamedTuple):
    """One of the leases on a name. `lease`: for client.break_lock(); times in seconds, `since`
    by the server's clock."""
    party: Party
    lease: str
    fence: int
    remaining: float
    ttl: float
    renewals: int
    since: float


class Inspection(NamedTuple):
    """The state of one name on the server."""
    name: bytes
    kind: str
    is_held: bool
    fence: int
    limit: int
    used: int
    holder_count: int
    holders: List[Holder]
    waiter_count: int
    waiters: List[Party]
    quarantine: float
    obstacle: str


def read_party(party: Any) -> Party:
    return Party(text_of(party.client), text_of(party.host), int(party.pid),
                 text_of(party.program), text_of(party.version), text_of(party.note),
                 party.waited_ms / 1000, MODES.get(party.mode, str(party.mode)),
                 int(party.units))


def read_holder(holder: Any) -> Holder:
    return Holder(read_party(holder.party), text_of(holder.lease), int(holder.fence),
                  holder.remaining_ms / 1000, holder.ttl_ms / 1000, int(holder.renewals),
                  holder.since_unix_us / 1e6)


def read_inspection(found: Any) -> Inspection:
    return Inspection(
        bytes(ffi.buffer(found.name, found.name_size)), KINDS.get(found.kind, str(found.kind)),
        bool(found.is_held), int(found.fence), int(found.limit), int(found.used),
        int(found.holder_count),
        [read_holder(found.holders[i]) for i in range(found.shown_holders)],
        int(found.waiter_count), [read_party(found.waiters[i]) for i in range(found.party_count)],
        found.quarantine_ms / 1000, text_of(found.obstacle))


def inspect(handle: Any, name: Any) -> Inspection:
    found = get('dibs_inspection *', lib.dibs_inspect, handle, bytes_of(name))
    try:
        return read_inspection(found)
    finally:
        lib.dibs_inspection_free(found)


def list_locks(handle: Any, pattern: Optional[Name],
               visit: Callable[[Inspection], Optional[bool]]) -> None:
    chars = ffi.NULL if pattern is None else c_name(pattern)

    def goes_on(found: Any) -> bool:
        return visit(read_inspection(found)) is not False

    walk(lib.dibs_list, lib.dibs_py_inspected, goes_on, handle, chars)


def list_all(handle: Any, pattern: Optional[Name]) -> List[Inspection]:
    found: List[Inspection] = []
    list_locks(handle, pattern, found.append)
    return found


def stripe(name: str, key: Data, stripes: int) -> str:
    """The name of the lock of `stripes` that `key` belongs to, "name#17": the same everywhere."""
    chars, data = c_name(name), to_bytes(key)
    room = ffi.new('char[]', len(chars) + 9)
    check(lib.dibs_stripe(chars, ffi.from_buffer(data), len(data), stripes, room, len(room)))
    return text_of(room)
