# SPDX-License-Identifier: MIT
"""dibs.election - one of many candidates leads; observers see which."""
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Optional

from dibs import callbacks
from dibs._dibs import ffi, lib
from dibs.call import Named, c_text, get
from dibs.errors import Error, check, error_of
from dibs.hold import Hold
from dibs.inspection import Party, read_party
from dibs.lock import Request
from dibs.options import LockOptions, lead_target

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from dibs.client import Opened


class Leader(NamedTuple):
    """The state of an election. `epoch`: the fence of the leader, or of the last one.
    `is_published`: the leader has published `value`, which may be ''. `is_known`: False while
    the server has never replied."""
    is_led: bool
    epoch: int
    value: str
    party: Party
    remaining: float
    is_published: bool = False
    is_known: bool = True


def read_leader(leader: Any) -> Leader:
    value = bytes(ffi.buffer(leader.value, leader.value_size)).decode('utf-8', 'replace')
    return Leader(bool(leader.is_led), int(leader.epoch), value, read_party(leader.party),
                  leader.remaining_ms / 1000, bool(leader.is_published),
                  bool(leader.is_known))


def take_leader(leader: Any) -> Leader:
    try:
        return read_leader(leader)
    finally:
        lib.dibs_leader_free(leader)


class Leadership(Hold):
    """The hold of a leader; its fence is the epoch. Releasing it resigns."""

    def publish(self, value: str) -> None:
        """Publishes another value to observers. Lost: not the leader any more."""
        check(lib.dibs_publish(self._handle, c_text('value', value)))


class Campaign(Request[Leadership]):
    """How to become the leader; election.campaign() makes it. `with` waits until elected and
    gives the Leadership, which the end of the block resigns."""

    _kind = Leadership


class Observer:
    """Reports each change until close(); election.observe() makes it."""

    def __init__(self, client: 'Opened', name: Any, on_change: Callable[[Leader], None],
                 on_end: Optional[Callable[[Error], None]],
                 on_unseen: Optional[Callable[[Error, Leader], None]]) -> None:
        def changed(error: Any, leader: Any) -> None:
            if leader == ffi.NULL:
                if on_end is not None:
                    on_end(error_of(error.status, error))
            elif error.status == lib.DIBS_OK:
                on_change(read_leader(leader))
            elif on_unseen is not None:
                on_unseen(error_of(error.status, error), read_leader(leader))

        self._number = callbacks.add(changed)
        try:
            self._handle = get('dibs_observer *', lib.dibs_observe, client.handle, name,
                               lib.dibs_py_leader, callbacks.pointer(self._number), ffi.NULL)
        except BaseException:
            callbacks.remove(self._number)
            raise

    def close(self) -> None:
        """Ends it; waits for a call of `on_change` that runs now."""
        callbacks.remove(self._number)
        handle, self._handle = self._handle, ffi.NULL
        lib.dibs_observer_free(handle)

    def __enter__(self) -> 'Observer':
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        self.close()


class Election(Named):
    """An election; client.election() makes it. It is the lock of the same name, with a value."""

    def campaign(self, value: str = '', **options: 'Unpack[LockOptions]') -> Campaign:
        """How to become its leader, with the value that observers see; options as
        client.lock()."""
        return Campaign(self._client, lead_target(self._name, value), dict(options))

    def leader(self) -> Leader:
        """The present state. Asks the server."""
        return take_leader(self._get('dibs_leader *', lib.dibs_get_leader))

    def observe(self, on_change: Callable[[Leader], None],
                on_end: Optional[Callable[[Error], None]] = None,
                on_unseen: Optional[Callable[[Error, Leader], None]] = None) -> Observer:
        """Calls `on_change` with the present state and each later one, on the library's thread;
        `on_end` if the observation ends by a fault. `on_unseen` once when the server cannot be
        seen, with the reason and the last leader known; `on_change` when it is seen again."""
        return Observer(self._client, self._name, on_change, on_end, on_unseen)
