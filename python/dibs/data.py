# SPDX-License-Identifier: MIT
"""dibs.data - maps, lists and sets of bytes under the program's own keys, in Redisson's layout.

A change is sent once: Unknown if its reply was lost. `str` is stored as UTF-8; what is read is
bytes."""
import time
from typing import Any, Callable, Dict, List as ListOf, Optional, Set as SetOf

from dibs._dibs import ffi, lib
from dibs.call import Bytes, Data, Named, get_value, of_bytes, to_ms, wait_options, walk
from dibs.errors import TimedOut, Unreachable, Unsupported, check, error_of, text_of

KEY_LOCKS = {'lock': lib.DIBS_KEY_LOCK, 'fair_lock': lib.DIBS_KEY_FAIR_LOCK,
             'rw_lock': lib.DIBS_KEY_RW_LOCK, 'semaphore': lib.DIBS_KEY_SEMAPHORE,
             'permits': lib.DIBS_KEY_PERMITS, 'latch': lib.DIBS_KEY_LATCH}
SLICE_S = 0.5     # of a wait without a request that Ctrl-C can cancel


def entry(data: Any) -> bytes:
    """An entry of a walk; without bytes it was too large for a page."""
    if data.bytes == ffi.NULL and data.size:
        raise Unsupported('an entry of %d bytes of another program is too large' % data.size,
                          lib.DIBS_ERR_UNSUPPORTED)
    return of_bytes(data)


class Stored(Named):
    """What maps, lists and sets have in common."""

    def _is(self, function: Any, *arguments: Any) -> bool:
        return bool(self._get('bool', function, *arguments))

    def _value(self, function: Any, *arguments: Any) -> Optional[bytes]:
        return get_value(function, self._client.handle, self._name, *arguments)

    def _walk(self, function: Any, callback: Any, visit: Callable[..., bool], *more: Any) -> None:
        walk(function, callback, visit, self._client.handle, self._name, *more)

    def expire(self, seconds: float) -> bool:
        """Sets its time to live; False: there is none."""
        return self._is(lib.dibs_data_expire, to_ms(seconds))

    def persist(self) -> bool:
        """Removes its time to live; False: it had none."""
        return self._is(lib.dibs_data_persist)

    def ttl(self) -> Optional[float]:
        """The seconds it has left; None: without end. KeyError: there is none."""
        return read_ttl(int(self._get('int64_t', lib.dibs_data_ttl)), self._name)

    def delete(self) -> bool:
        """Removes it; False: there was none."""
        return self._is(lib.dibs_data_delete)


def read_ttl(left_ms: int, name: Any) -> Optional[float]:
    if left_ms == -2:
        raise KeyError(text_of(name))
    return None if left_ms < 0 else left_ms / 1000


class Keyed(Stored):
    """What maps and sets have: locks that belong to one key."""

    def lock_name(self, key: Data, kind: str = 'lock') -> str:
        """The name of the lock of one key, as Redisson makes it; `kind`: lock, fair_lock,
        rw_lock, semaphore, permits, latch."""
        return key_lock_name(self._name, key, kind)


def key_lock_name(name: Any, key: Data, kind: str) -> str:
    if kind not in KEY_LOCKS:
        raise ValueError('dibs: kind is %s, not %r' % (' or '.join(KEY_LOCKS), kind))
    room, bytes_ = ffi.new('char[]', int(lib.DIBS_NAME_MAX) + 1), Bytes(key)
    check(lib.dibs_key_lock_name(name, bytes_.c, KEY_LOCKS[kind], room, len(room)))
    return text_of(room)


class Map(Keyed):
    """A map; client.map() makes it. Redisson's RMap, a hash of the server."""

    def put(self, key: Data, value: Data) -> Optional[bytes]:
        """Sets a key; its old value, or None."""
        return self._value(lib.dibs_map_put, Bytes(key), Bytes(value))

    def put_if_absent(self, key: Data, value: Data) -> bool:
        """Sets a key that does not exist; whether it was set."""
        return self._is(lib.dibs_map_put_if_absent, Bytes(key), Bytes(value))

    def replace(self, key: Data, value: Data, expected: Optional[Data] = None) -> bool:
        """Sets a key that exists, and has the value `expected`; whether it was set."""
        if expected is None:
            return self._is(lib.dibs_map_replace, Bytes(key), Bytes(value))
        return self._is(lib.dibs_map_replace_if, Bytes(key), Bytes(expected), Bytes(value))

    def get(self, key: Data) -> Optional[bytes]:
        """The value of a key, or None."""
        return self._value(lib.dibs_map_get, Bytes(key))

    def contains(self, key: Data) -> bool:
        """Whether there is this key."""
        return self._is(lib.dibs_map_contains, Bytes(key))

    def size(self) -> int:
        """The number of keys."""
        return int(self._get('uint64_t', lib.dibs_map_size))

    def remove(self, key: Data) -> Optional[bytes]:
        """Removes a key; its value, or None."""
        return self._value(lib.dibs_map_remove, Bytes(key))

    def remove_if(self, key: Data, expected: Data) -> bool:
        """Removes a key that has this value; whether it was removed."""
        return self._is(lib.dibs_map_remove_if, Bytes(key), Bytes(expected))

    def each(self, visit: Callable[[bytes, bytes], Optional[bool]]) -> None:
        """Calls `visit` for each entry, a few dozen in memory at a time, until it returns False;
        an entry that changes meanwhile may be missed or come twice."""

        def goes_on(key: Any, value: Any) -> bool:
            return visit(entry(key), entry(value)) is not False

        self._walk(lib.dibs_map_each, lib.dibs_py_entry, goes_on)

    def items(self) -> Dict[bytes, bytes]:
        """All entries, in memory."""
        found: Dict[bytes, bytes] = {}
        self.each(found.__setitem__)
        return found


class List(Stored):
    """A list; client.list() makes it. Redisson's RList and RQueue. -1 is the last index."""

    def add(self, element: Data) -> int:
        """Appends an element; the new length."""
        return int(self._get('uint64_t', lib.dibs_list_add, Bytes(element)))

    def add_first(self, element: Data) -> int:
        """Prepends an element; the new length."""
        return int(self._get('uint64_t', lib.dibs_list_add_first, Bytes(element)))

    def get(self, index: int) -> Optional[bytes]:
        """The element, or None."""
        return self._value(lib.dibs_list_get, index)

    def set(self, index: int, element: Data) -> bool:
        """Replaces an element; False: there is none."""
        return self._is(lib.dibs_list_set, index, Bytes(element))

    def insert(self, index: int, element: Data) -> bool:
        """Inserts an element; False: the list is shorter."""
        return self._is(lib.dibs_list_insert, index, Bytes(element))

    def remove(self, element: Data, count: int = 0) -> int:
        """Removes the first `count` equal elements, with a negative count the last, with 0 all;
        how many were removed."""
        return int(self._get('uint64_t', lib.dibs_list_remove, Bytes(element), count))

    def remove_at(self, index: int) -> bool:
        """Removes the element at an index; False: there is none."""
        return self._is(lib.dibs_list_remove_at, index)

    def size(self) -> int:
        """The number of elements."""
        return int(self._get('uint64_t', lib.dibs_list_size))

    def range(self, index: int = 0, count: int = 0) -> ListOf[bytes]:
        """The elements from an index on, at most `count`; 0: all."""
        found: ListOf[bytes] = []

        def visit(at: int, element: Any) -> bool:
            found.append(entry(element))
            return True

        self._walk(lib.dibs_list_range, lib.dibs_py_element, visit, index, count)
        return found

    def pop_first(self) -> Optional[bytes]:
        """Removes and returns the first element; None: the list is empty."""
        return self._value(lib.dibs_list_pop_first)

    def pop_last(self) -> Optional[bytes]:
        """Removes and returns the last element; None: the list is empty."""
        return self._value(lib.dibs_list_pop_last)

    def take(self, wait: Optional[float] = None) -> bytes:
        """As pop_first(), but waits while the list is empty: TimedOut after `wait` seconds;
        Unreachable: no server for as long as other calls wait for one, without degrade='wait'.
        Ctrl-C ends the wait within half a second."""
        end = None if wait is None else time.monotonic() + wait
        seen = time.monotonic()
        while True:
            left = SLICE_S if end is None else max(0.0, min(SLICE_S, end - time.monotonic()))
            try:
                taken = take_once(self._client.handle, self._name, left)
                seen = time.monotonic()
            except Unreachable:
                if end is not None and time.monotonic() >= end or self._is_given_up(seen):
                    raise
                taken = None
            if taken is not None:
                return taken
            if end is not None and time.monotonic() >= end:
                raise error_of(lib.DIBS_TIMED_OUT)

    def _is_given_up(self, seen: float) -> bool:
        """Each slice alone would give up at its end, in which the server may be restarting."""
        handle = self._client.handle
        slice_end = seen + float(lib.dibs_client_call_timeout(handle)) / 1000
        return bool(self._client._info().degrade != lib.DIBS_DEGRADE_WAIT
                    and time.monotonic() >= slice_end)


def take_once(handle: Any, name: Any, left: float) -> Optional[bytes]:
    """One wait of at most `left` seconds; None: the list was empty."""
    try:
        return get_value(lib.dibs_list_take, handle, name, wait_options(to_ms(left)))
    except TimedOut:
        return None


class Set(Keyed):
    """A set; client.set() makes it. Redisson's RSet, a set of the server."""

    def add(self, member: Data) -> bool:
        """Adds a member; False: it was one already."""
        return self._is(lib.dibs_set_add, Bytes(member))

    def remove(self, member: Data) -> bool:
        """Removes a member; False: it was none."""
        return self._is(lib.dibs_set_remove, Bytes(member))

    def contains(self, member: Data) -> bool:
        """Whether it is a member."""
        return self._is(lib.dibs_set_contains, Bytes(member))

    def size(self) -> int:
        """The number of members."""
        return int(self._get('uint64_t', lib.dibs_set_size))

    def pop(self) -> Optional[bytes]:
        """Removes and returns a random member; None: the set is empty."""
        return self._value(lib.dibs_set_pop)

    def members(self) -> SetOf[bytes]:
        """All members, in memory."""
        found: SetOf[bytes] = set()

        def visit(member: Any) -> bool:
            found.add(entry(member))
            return True

        self._walk(lib.dibs_set_each, lib.dibs_py_member, visit)
        return found
