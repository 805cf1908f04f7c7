# SPDX-License-Identifier: MIT
"""dibs.names - the names that a client has in memory: held, waited for, lingering."""
from typing import Any, List, NamedTuple

from dibs._dibs import ffi, lib
from dibs.call import get, to_ms
from dibs.inspection import KINDS, MODES

STATES = {lib.DIBS_NAME_WAITING: 'waiting', lib.DIBS_NAME_HELD: 'held',
          lib.DIBS_NAME_SUSPECT: 'suspect', lib.DIBS_NAME_LINGERING: 'lingering',
          lib.DIBS_NAME_LEAVING: 'leaving', lib.DIBS_NAME_LOST: 'lost'}


class NameState(NamedTuple):
    """A name of this client. `state`: waiting, held, suspect, lingering, leaving, lost; `holds` and
    `waiting`: of this program; times in seconds, `idle` since the last use of a lingering lease."""
    name: bytes
    kind: str
    mode: str
    state: str
    units: int
    holds: int
    waiting: int
    fence: int
    valid_for: float
    idle: float


def _read(view: Any) -> NameState:
    return NameState(bytes(ffi.buffer(view.name, view.name_size)),
                     KINDS.get(view.kind, str(view.kind)), MODES.get(view.mode, str(view.mode)),
                     STATES.get(view.state, str(view.state)), int(view.units), int(view.holds),
                     int(view.waiting), int(view.fence), view.valid_ms / 1000, view.idle_ms / 1000)


def read(handle: Any) -> List[NameState]:
    found = get('dibs_names *', lib.dibs_names_list, handle)
    try:
        return [_read(found.names[i]) for i in range(found.count)]
    finally:
        lib.dibs_names_free(found)


def expire(handle: Any, unused: float) -> int:
    return int(get('size_t', lib.dibs_names_expire, handle, to_ms(unused)))
