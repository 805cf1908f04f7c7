# SPDX-License-Identifier: MIT
"""dibs.guard - guarded writes: refused with an older fence than the last one applied."""
from typing import Any, List, Mapping, Optional, Sequence, Tuple

from dibs._dibs import ffi, lib
from dibs.call import Data, Named, c_text, do, take_value, to_bytes, to_ms


def fence_admits(last_seen: int, fence: int) -> bool:
    """Whether a store that has applied `last_seen` (0: nothing) accepts a write with `fence`."""
    return bool(lib.dibs_fence_admits(last_seen, fence))


def c_fields(fields: Mapping[str, Data]) -> Tuple[Any, List[Any]]:
    """An array of dibs_field, and what it points to."""
    keep: List[Any] = []
    made = ffi.new('dibs_field[]', len(fields))
    for field, (name, value) in zip(made, fields.items()):
        data = to_bytes(value)
        keep += [c_text('field', name), ffi.from_buffer(data)]
        field.name, field.value, field.value_size = keep[-2], keep[-1], len(data)
    return made, keep


def c_names(names: Sequence[str]) -> Tuple[Any, List[Any]]:
    if isinstance(names, (str, bytes)):
        raise TypeError('dibs: a list of fields is wanted, not the one name %r' % names)
    keep = [c_text('field', name) for name in names]
    return ffi.new('char *[]', keep), keep


def read_guarded(function: Any, *target: Any) -> Tuple[Optional[bytes], int]:
    value, fence = ffi.new('dibs_value **'), ffi.new('uint64_t *')
    do(function, *target, value, fence)
    return take_value(value[0]), int(fence[0])


class Guarded(Named):
    """Your own key, written only with a fence that is not older than the last one applied;
    client.guarded() makes it. The fence is that of an exclusive hold: those of read holds and
    permits are refused. Fenced: nothing was written, and your hold has ended."""

    def set(self, fence: int, value: Data, ttl: Optional[float] = None) -> None:
        """Sets a string, with a time to live in seconds, or without."""
        data = to_bytes(value)
        self._do(lib.dibs_guarded_set, fence, ffi.from_buffer(data), len(data), to_ms(ttl))

    def get(self) -> Tuple[Optional[bytes], int]:
        """The string, or None, and the highest fence of a guarded write (0: none), of one moment."""
        return read_guarded(lib.dibs_guarded_get, self._client.handle, self._name)

    def hget(self, name: str) -> Tuple[Optional[bytes], int]:
        """A field of a hash, or None, and the highest fence of the hash, of one moment."""
        return read_guarded(lib.dibs_guarded_hget, self._client.handle, self._name,
                            c_text('field', name))

    def hset(self, fence: int, fields: Mapping[str, Data]) -> None:
        """Sets fields of a hash at once, 1 to 1000 of them."""
        made, keep = c_fields(fields)
        self._do(lib.dibs_guarded_hset, fence, made, len(fields))
        del keep

    def hdel(self, fence: int, names: Sequence[str]) -> None:
        """Removes fields of a hash, up to 1000 at once."""
        made, keep = c_names(names)
        self._do(lib.dibs_guarded_hdel, fence, made, len(keep))

    def delete(self, fence: int) -> None:
        """Removes the key; its fence is kept for a day."""
        self._do(lib.dibs_guarded_del, fence)

    def incr(self, fence: int, by: int = 1) -> int:
        """Adds to the number in the key; the new number. After Unknown, repeat the same call, within
        58 minutes: later it is Unknown, and sends nothing, until the key is set or deleted."""
        return int(self._get('int64_t', lib.dibs_guarded_incr, fence, by))
