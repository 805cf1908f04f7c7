# SPDX-License-Identifier: MIT
"""dibs.hold - a granted lock: its fence, its loss, its release."""
import threading
from typing import Any, Callable, Iterable, List, NamedTuple, Optional, TypeVar

from dibs import callbacks
from dibs._dibs import ffi, lib
from dibs.errors import check, text_of

DURABILITY = {lib.DIBS_DURABLE_LOCAL: 'local', lib.DIBS_DURABLE_PRIMARY: 'primary',
              lib.DIBS_DURABLE_REPLICAS: 'replicas', lib.DIBS_DURABLE_FSYNC: 'fsync',
              lib.DIBS_DURABLE_QUORUM: 'quorum'}


class Loss(NamedTuple):
    """A loss, as `on_lost` gets it. `status`: the number of DIBS_LOST or DIBS_TAKEN, as
    Error.status."""
    name: bytes
    reason: str
    status: int


class Durability(NamedTuple):
    """Where a grant is stored: local, primary, replicas, fsync, quorum; and how many servers
    have acknowledged it, of how many that were wanted."""
    kind: str
    acknowledged: int
    wanted: int


CHANGES = {lib.DIBS_CHANGE_SUSPECT: 'suspect', lib.DIBS_CHANGE_HELD: 'held',
           lib.DIBS_CHANGE_ENDS_SOON: 'ends_soon', lib.DIBS_CHANGE_LOST: 'lost'}


class Change(NamedTuple):
    """A change of a hold, as `on_change` gets it: 'suspect' (renewals do not come through), 'held'
    again, 'ends_soon' (`warn` seconds or less are left) or 'lost'; and for how long it is valid."""
    why: str
    valid_for: float


OnLost = Optional[Callable[[Loss], None]]
OnChange = Optional[Callable[[Change], None]]


class Watch:
    """Receives the changes and the loss of one hold; it exists before the hold does."""

    def __init__(self, on_lost: OnLost, on_change: OnChange) -> None:
        self.is_lost = False
        self._on_lost, self._on_change = on_lost, on_change
        self.number = callbacks.add(self._received)

    def _received(self, loss: Any, now: Any = None, why: int = 0) -> None:
        if loss is not None:
            self._lost(loss)
        elif self._on_change is not None:
            self._on_change(Change(CHANGES[why], int(now.valid_ms) / 1000))

    def _lost(self, loss: Any) -> None:
        callbacks.remove(self.number)
        self.is_lost = True
        event = self.__dict__.get('event')
        if event is not None:
            event.set()
        if self._on_lost is not None:
            self._on_lost(Loss(bytes(ffi.buffer(loss.name, loss.name_size)), text_of(loss.text),
                               int(loss.why)))

    def event_of(self, kind: Callable[[], Any]) -> Any:
        """The event of the loss, made when it is first asked for: the flag is read after the
        event is stored, and set before it is looked for."""
        event = self.__dict__.get('event')
        if event is None:
            event = self.__dict__.setdefault('event', kind())
        if self.is_lost:
            event.set()
        return event

    def end(self) -> None:
        callbacks.remove(self.number)


class Held:
    """What a hold can say, blocking or not."""

    _entered_by: Any = None       # the thread or task of its block

    def __init__(self, handle: Any, watch: Watch) -> None:
        self._handle, self._watch = handle, watch
        self._fence: int = lib.dibs_hold_fence(handle)

    @property
    def fence(self) -> int:
        """The fencing number: send it with each write; the resource refuses a smaller one."""
        return self._fence

    @property
    def is_held(self) -> bool:
        """Whether the hold is valid now; may be outdated when you read it."""
        return bool(lib.dibs_hold_state(self._handle) != lib.DIBS_HOLD_GONE)

    @property
    def is_suspect(self) -> bool:
        """Valid, but a renewal is overdue or the connection is down."""
        return bool(lib.dibs_hold_state(self._handle) == lib.DIBS_HOLD_SUSPECT)

    @property
    def valid_for(self) -> float:
        """Seconds for which it stays valid if no further renewal succeeds."""
        return int(lib.dibs_hold_valid_ms(self._handle)) / 1000

    def _info(self) -> Any:
        """The dibs_hold_info; all zero of a hold that was released."""
        found = ffi.new('dibs_hold_info *', {'size': ffi.sizeof('dibs_hold_info')})
        lib.dibs_hold_get_info(self._handle, found)
        return found

    @property
    def depth(self) -> int:
        """How many holds of its owner share this lease."""
        return int(self._info().depth)

    @property
    def units(self) -> int:
        """How many permits it has; 1 for locks."""
        return int(self._info().units)

    @property
    def durability(self) -> Durability:
        """Where the grant is stored."""
        found = ffi.new('dibs_hold_info *', {'size': ffi.sizeof('dibs_hold_info')})
        check(lib.dibs_hold_get_info(self._handle, found))
        return Durability(DURABILITY.get(found.durability, str(found.durability)),
                          int(found.acknowledged),
                          int(found.wanted))

    @property
    def names(self) -> List[bytes]:
        """Its names, sorted."""
        found: List[bytes] = []
        room, size = ffi.new('char[]', int(lib.DIBS_NAME_MAX) + 1), ffi.new('size_t *')
        while lib.dibs_hold_name(self._handle, len(found), room, len(room), size) == lib.DIBS_OK:
            found.append(bytes(ffi.buffer(room, size[0])))
        return found

    @property
    def why(self) -> str:
        """Why its last renewal failed, or why it was lost; empty if the last renewal succeeded."""
        room = ffi.new('char[]', 512)
        check(lib.dibs_hold_why(self._handle, room, len(room)))
        return text_of(room)

    def token(self) -> str:
        """A text that names this lease, for client.renew() and client.release() anywhere."""
        room = ffi.new('char[]', int(lib.DIBS_TOKEN_SIZE))
        check(lib.dibs_hold_token(self._handle, room, len(room)))
        return text_of(room)

    def downgrade(self) -> None:
        """Turns a hold for writing into one for reading, with no other writer in between."""
        check(lib.dibs_downgrade(self._handle))

    def detach(self) -> None:
        """Stops renewing without a release: the lease expires, or continues by its token."""
        check(lib.dibs_hold_detach(self._handle))
        self._watch.end()

    def __repr__(self) -> str:
        return '<%s.%s %r fence %d%s>' % (
            type(self).__module__.replace('.hold', ''), type(self).__name__, self.names, self.fence,
            '' if self.is_held else ', gone')


H = TypeVar('H', bound=Held)


def left(holds: Iterable[H], who: Any) -> H:
    """The hold of the block that `who` leaves, a thread or a task: the last one that it entered,
    else the first one of another, because a generator may end elsewhere. Two get different ones;
    who asks again gets the same."""
    entered = list(holds)
    for hold in reversed(entered):
        if hold._entered_by is who and hold.__dict__.setdefault('_left_by', who) is who:
            return hold
    for hold in entered:
        if hold.__dict__.setdefault('_left_by', who) is who:
            return hold
    raise RuntimeError('dibs: the end of a block that was not entered')


class Hold(Held):
    """A granted lock. Release it, or use it in a `with` statement."""

    @property
    def lost(self) -> threading.Event:
        """Is set when the library reports that the hold is lost."""
        event: threading.Event = self._watch.event_of(threading.Event)
        return event

    def release(self) -> None:
        """Releases it. Raises Lost or Taken if it had ended before, and Unknown if the server did
        not confirm in time."""
        status = lib.dibs_release(self._handle)
        self._watch.end()
        check(status)

    def _begin_block(self) -> None:
        """A signal may raise before the first line of what ends the block: then the end of this
        object releases the lock."""
        self._handle = ffi.gc(self._handle, lib.dibs_py_ended)

    def _let_go(self) -> None:
        """After an exception in its release; that of a signal may come before it."""
        lib.dibs_release(self._handle)
        self._watch.end()

    def __enter__(self) -> 'Hold':
        self._begin_block()
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        try:
            leave(self, value)
        except BaseException:                        # also a signal's, before the release
            self._let_go()
            raise


def leave(hold: Hold, value: Optional[BaseException]) -> None:
    """The end of a block: an exception of the block is not replaced by that of the release."""
    try:
        hold.release()
    except Exception:
        if value is None:
            raise
