# SPDX-License-Identifier: MIT
"""dibs.aio.election - leader election for asyncio."""
from typing import TYPE_CHECKING, Any, Callable, Optional

from dibs._dibs import lib
from dibs.aio.lock import Hold, Request
from dibs.aio.request import Driven, Named
from dibs.call import c_text, do, get
from dibs.election import Leader, Observer as Observing, take_leader
from dibs.errors import Error
from dibs.options import LockOptions, lead_target

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Leadership(Hold):
    """The hold of a leader; its fence is the epoch. Releasing it resigns."""

    async def publish(self, value: str) -> None:
        """Publishes another value to observers. Lost: not the leader any more."""
        chars = c_text('value', value)
        await self._client.in_thread(lambda: do(lib.dibs_publish, self._handle, chars))


class Campaign(Request[Leadership]):
    """How to become the leader; election.campaign() makes it. `async with` waits until elected
    and gives the Leadership, which the end of the block resigns."""

    _kind = Leadership


class Observer(Observing):
    """Reports each change until close(); election.observe() makes it."""

    def __init__(self, client: Driven, name: Any, on_change: Callable[[Leader], None],
                 on_end: Optional[Callable[[Error], None]],
                 on_unseen: Optional[Callable[[Error, Leader], None]]) -> None:
        client.loop()
        super().__init__(client, name, on_change, on_end, on_unseen)


class Election(Named):
    """An election; client.election() makes it. It is the lock of the same name, with a value."""

    def campaign(self, value: str = '', **options: 'Unpack[LockOptions]') -> Campaign:
        """How to become its leader, with the value that observers see; options as
        client.lock()."""
        return Campaign(self._client, lead_target(self._name, value), dict(options))

    async def leader(self) -> Leader:
        """The present state."""
        return await self._client.in_thread(lambda: take_leader(
            get('dibs_leader *', lib.dibs_get_leader, self._client.handle, self._name)))

    def observe(self, on_change: Callable[[Leader], None],
                on_end: Optional[Callable[[Error], None]] = None,
                on_unseen: Optional[Callable[[Error, Leader], None]] = None) -> Observer:
        """Calls `on_change` with the present state and each later one, in the loop; `on_end` if
        the observation ends by a fault. `on_unseen` once when the server cannot be seen, with
        the reason and the last leader known; `on_change` when it is seen again. Call it in the
        running loop."""
        return Observer(self._client, self._name, on_change, on_end, on_unseen)
