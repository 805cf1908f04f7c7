# SPDX-License-Identifier: MIT
"""dibs.aio.data - maps, lists and sets for asyncio: those of dibs.data, on the loop's executor.

A cancelled task does not wait for the answer; a change may have happened."""
import asyncio
from queue import SimpleQueue
from typing import Any, Callable, Dict, List as ListOf, Optional, Set as SetOf, TypeVar

from dibs import data
from dibs._dibs import lib
from dibs.aio.request import Driven
from dibs.call import Data, Name
from dibs.errors import error_of

T = TypeVar('T')
POLL_S = (0.01, 0.25)     # the first and the longest pause of take()


class Stored:
    """What maps, lists and sets have in common."""

    def __init__(self, client: Driven, plain: Any) -> None:
        self._client, self._plain = client, plain

    async def _ask(self, function: Callable[..., T], *arguments: Any) -> T:
        return await self._client.in_thread(lambda: function(*arguments))

    async def expire(self, seconds: float) -> bool:
        """Sets its time to live; False: there is none."""
        return bool(await self._ask(self._plain.expire, seconds))

    async def persist(self) -> bool:
        """Removes its time to live; False: it had none."""
        return bool(await self._ask(self._plain.persist))

    async def ttl(self) -> Optional[float]:
        """The seconds it has left; None: without end. KeyError: there is none."""
        left: Optional[float] = await self._ask(self._plain.ttl)
        return left

    async def delete(self) -> bool:
        """Removes it; False: there was none."""
        return bool(await self._ask(self._plain.delete))


class Map(Stored):
    """A map; client.map() makes it. Redisson's RMap, a hash of the server."""

    _plain: data.Map

    def __init__(self, client: Driven, name: Name) -> None:
        super().__init__(client, data.Map(client, name))

    def lock_name(self, key: Data, kind: str = 'lock') -> str:
        """The name of the lock of one key, as dibs.Map.lock_name()."""
        return self._plain.lock_name(key, kind)

    async def put(self, key: Data, value: Data) -> Optional[bytes]:
        """Sets a key; its old value, or None."""
        return await self._ask(self._plain.put, key, value)

    async def put_if_absent(self, key: Data, value: Data) -> bool:
        """Sets a key that does not exist; whether it was set."""
        return await self._ask(self._plain.put_if_absent, key, value)

    async def replace(self, key: Data, value: Data, expected: Optional[Data] = None) -> bool:
        """Sets a key that exists, and has the value `expected`; whether it was set."""
        return await self._ask(self._plain.replace, key, value, expected)

    async def get(self, key: Data) -> Optional[bytes]:
        """The value of a key, or None."""
        return await self._ask(self._plain.get, key)

    async def contains(self, key: Data) -> bool:
        """Whether there is this key."""
        return await self._ask(self._plain.contains, key)

    async def size(self) -> int:
        """The number of keys."""
        return await self._ask(self._plain.size)

    async def remove(self, key: Data) -> Optional[bytes]:
        """Removes a key; its value, or None."""
        return await self._ask(self._plain.remove, key)

    async def remove_if(self, key: Data, expected: Data) -> bool:
        """Removes a key that has this value; whether it was removed."""
        return await self._ask(self._plain.remove_if, key, expected)

    async def items(self) -> Dict[bytes, bytes]:
        """All entries, in memory."""
        return await self._ask(self._plain.items)


class List(Stored):
    """A list; client.list() makes it. Redisson's RList and RQueue. -1 is the last index."""

    _plain: data.List

    def __init__(self, client: Driven, name: Name) -> None:
        super().__init__(client, data.List(client, name))

    async def add(self, element: Data) -> int:
        """Appends an element; the new length."""
        return await self._ask(self._plain.add, element)

    async def add_first(self, element: Data) -> int:
        """Prepends an element; the new length."""
        return await self._ask(self._plain.add_first, element)

    async def get(self, index: int) -> Optional[bytes]:
        """The element, or None."""
        return await self._ask(self._plain.get, index)

    async def set(self, index: int, element: Data) -> bool:
        """Replaces an element; False: there is none."""
        return await self._ask(self._plain.set, index, element)

    async def insert(self, index: int, element: Data) -> bool:
        """Inserts an element; False: the list is shorter."""
        return await self._ask(self._plain.insert, index, element)

    async def remove(self, element: Data, count: int = 0) -> int:
        """Removes the first `count` equal elements, with a negative count the last, with 0 all;
        how many were removed."""
        return await self._ask(self._plain.remove, element, count)

    async def remove_at(self, index: int) -> bool:
        """Removes the element at an index; False: there is none."""
        return await self._ask(self._plain.remove_at, index)

    async def size(self) -> int:
        """The number of elements."""
        return await self._ask(self._plain.size)

    async def range(self, index: int = 0, count: int = 0) -> ListOf[bytes]:
        """The elements from an index on, at most `count`; 0: all."""
        return await self._ask(self._plain.range, index, count)

    async def pop_first(self) -> Optional[bytes]:
        """Removes and returns the first element; None: the list is empty."""
        return await self._ask(self._plain.pop_first)

    async def pop_last(self) -> Optional[bytes]:
        """Removes and returns the last element; None: the list is empty."""
        return await self._ask(self._plain.pop_last)

    async def take(self, wait: Optional[float] = None) -> bytes:
        """As pop_first(), but polls while the list is empty, as dibs.List.take() does: TimedOut
        after `wait` seconds. If the task is cancelled while an element is removed, the element
        is prepended again; a second cancellation does not wait for that."""
        loop, pause = self._client.loop(), POLL_S[0]
        end = None if wait is None else loop.time() + wait
        while True:
            taken = await self._pop_or_put_back()
            if taken is not None:
                return taken
            left = pause if end is None else min(pause, end - loop.time())
            if left <= 0:
                raise error_of(lib.DIBS_TIMED_OUT)
            await asyncio.sleep(left)
            pause = min(pause * 2, POLL_S[1])

    async def _pop_or_put_back(self) -> Optional[bytes]:
        """Both are calls of the executor, which no cancellation ends, nor the end of the loop."""
        popped: 'SimpleQueue[Optional[bytes]]' = SimpleQueue()

        def pop() -> Optional[bytes]:
            taken = None
            try:
                taken = self._plain.pop_first()
                return taken
            finally:
                popped.put(taken)

        def put_back() -> None:
            taken = popped.get()
            if taken is not None:
                self._plain.add_first(taken)

        run = self._client.loop().run_in_executor
        try:
            return await asyncio.shield(run(None, pop))
        except asyncio.CancelledError:
            await asyncio.shield(run(None, put_back))
            raise


class Set(Stored):
    """A set; client.set() makes it. Redisson's RSet, a set of the server."""

    _plain: data.Set

    def __init__(self, client: Driven, name: Name) -> None:
        super().__init__(client, data.Set(client, name))

    def lock_name(self, key: Data, kind: str = 'lock') -> str:
        """The name of the lock of one member, as dibs.Set.lock_name()."""
        return self._plain.lock_name(key, kind)

    async def add(self, member: Data) -> bool:
        """Adds a member; False: it was one already."""
        return await self._ask(self._plain.add, member)

    async def remove(self, member: Data) -> bool:
        """Removes a member; False: it was none."""
        return await self._ask(self._plain.remove, member)

    async def contains(self, member: Data) -> bool:
        """Whether it is a member."""
        return await self._ask(self._plain.contains, member)

    async def size(self) -> int:
        """The number of members."""
        return await self._ask(self._plain.size)

    async def pop(self) -> Optional[bytes]:
        """Removes and returns a random member; None: the set is empty."""
        return await self._ask(self._plain.pop)

    async def members(self) -> SetOf[bytes]:
        """All members, in memory."""
        return await self._ask(self._plain.members)
