# SPDX-License-Identifier: MIT
"""dibs.metrics - what one client counted since it was opened, as numbers and as text."""
import math
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from dibs._dibs import ffi, lib
from dibs.call import get, walk
from dibs.errors import text_of
from dibs.inspection import KINDS

WAITS = ('granted', 'busy', 'timed_out', 'cancelled', 'unknown', 'error')
ENDS = ('released', 'lost', 'taken')
HANDOVERS = ('message', 'poll', 'local', 'linger')


class Times(NamedTuple):
    """Durations: how many, their sum in seconds, and for each bound in seconds how many were not
    longer, and longer than the bound before; the last bound is math.inf."""
    number: int
    seconds: float
    at_most: List[Tuple[float, int]]


class ClassMetrics(NamedTuple):
    """The numbers of a class of names: a pattern of `classes`, else the part of a name before the
    first ':'. `waits`: from a call to its end, by granted, busy, timed_out, cancelled, unknown, error; `holds`: from the grant
    to the end, by released, lost, taken."""
    class_name: str
    kind: str
    waits: Dict[str, Times]
    holds: Dict[str, Times]
    holding: int
    waiting: int


class Metrics(NamedTuple):
    """The numbers of one client at one moment. `lease_slack`: the least share of a lease that was
    left when its renewal succeeded, in the last one to two minutes; None: none was renewed.
    `handovers`: how requests that waited got their lease, by message, poll, local, linger."""
    classes: List[ClassMetrics]
    renewed: int
    renew_failed: int
    lease_slack: Optional[float]
    handovers: Dict[str, int]
    round_trips: Times
    commands: int
    reconnects: int


def _bound(bucket: int) -> float:
    bound_us = int(lib.dibs_fleet_bound_us(bucket))
    return math.inf if bound_us == (1 << 63) - 1 else bound_us / 1e6


BOUNDS = [_bound(bucket) for bucket in range(lib.DIBS_FLEET_BUCKETS)]


def _times(found: Any) -> Times:
    return Times(int(found.count), found.sum_us / 1e6,
                 [(bound, int(count)) for bound, count in zip(BOUNDS, found.buckets)])


def _class(row: Any) -> ClassMetrics:
    return ClassMetrics(text_of(row.class_name), KINDS.get(row.kind, str(row.kind)),
                        dict(zip(WAITS, map(_times, row.waits))),
                        dict(zip(ENDS, map(_times, row.holds))), int(row.holding),
                        int(row.waiting))


def read(handle: Any) -> Metrics:
    found = get('dibs_metrics *', lib.dibs_metrics_read, handle)
    try:
        slack = int(found.lease_slack_ppm)
        return Metrics([_class(found.rows[i]) for i in range(found.count)], int(found.renewed),
                       int(found.renew_failed), None if slack < 0 else slack / 1e6,
                       dict(zip(HANDOVERS, map(int, found.handovers))), _times(found.round_trips),
                       int(found.commands), int(found.reconnects))
    finally:
        lib.dibs_metrics_free(found)


def text(handle: Any, is_open_metrics: bool, has_end: bool) -> str:
    flags = ((0 if is_open_metrics else int(lib.DIBS_METRICS_PROMETHEUS)) |
             (0 if has_end else int(lib.DIBS_METRICS_NO_END)))
    parts: List[bytes] = []

    def visit(chars: Any, size: int) -> bool:
        parts.append(bytes(ffi.buffer(chars, size)))
        return True

    walk(lib.dibs_metrics_write, lib.dibs_py_text, visit, handle, flags)
    return b''.join(parts).decode()
