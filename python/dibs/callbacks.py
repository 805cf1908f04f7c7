# SPDX-License-Identifier: MIT
"""dibs.callbacks - calls from the library into Python.

The library gets a number, not a pointer: a call that comes after its receiver has gone finds
nothing. The calls come on the library's thread, in dibs_process(), or inside the call that
walks; cffi takes the GIL for them."""
import itertools
from typing import Any, Callable, Dict

from dibs._dibs import ffi, lib

_numbers = itertools.count(1)
_receivers: Dict[int, Callable[..., Any]] = {}
_POINTER = ffi.typeof('void *')


def add(receiver: Callable[..., Any]) -> int:
    number = next(_numbers)
    _receivers[number] = receiver
    return number


def remove(number: int) -> None:
    _receivers.pop(number, None)


def pointer(number: int) -> Any:
    return ffi.cast(_POINTER, number)


def _receiver(data: Any) -> Any:
    return _receivers.get(int(ffi.cast('uintptr_t', data)))


def _passes_on(name: str) -> None:
    """A callback whose last argument is the number, and whose receiver gets the others."""

    def receive(*arguments: Any) -> None:
        receiver = _receiver(arguments[-1])
        if receiver is not None:
            receiver(*arguments[:-1])

    ffi.def_extern(name=name)(receive)


def _walks(name: str) -> None:
    """A callback of a walk: it goes on while the receiver returns True. An exception ends it."""

    def visit(*arguments: Any) -> bool:
        receiver = _receiver(arguments[-1])
        return receiver is not None and bool(receiver(*arguments[:-1]))

    ffi.def_extern(name=name, error=False)(visit)


for _name in ('dibs_py_event', 'dibs_py_line', 'dibs_py_over', 'dibs_py_number', 'dibs_py_passed',
              'dibs_py_leader'):
    _passes_on(_name)
for _name in ('dibs_py_inspected', 'dibs_py_entry', 'dibs_py_element', 'dibs_py_member',
              'dibs_py_text'):
    _walks(_name)


@ffi.def_extern()  # type: ignore[untyped-decorator, unused-ignore]
def dibs_py_done(data: Any) -> None:
    remove(int(ffi.cast('uintptr_t', data)))


@ffi.def_extern()  # type: ignore[untyped-decorator, unused-ignore]
def dibs_py_lost(hold: Any, loss: Any, data: Any) -> None:
    receiver = _receiver(data)
    if receiver is not None:
        receiver(loss)


@ffi.def_extern()  # type: ignore[untyped-decorator, unused-ignore]
def dibs_py_changed(hold: Any, now: Any, why: int, data: Any) -> None:
    receiver = _receiver(data)
    if receiver is not None:
        receiver(None, now, why)


@ffi.def_extern()  # type: ignore[untyped-decorator, unused-ignore]
def dibs_py_locked(error: Any, hold: Any, data: Any) -> None:
    receiver = _receiver(data)
    if receiver is not None:
        receiver(error, hold)
    elif error.status == lib.DIBS_OK:        # the caller has given up
        lib.dibs_release_async(hold, ffi.NULL, ffi.NULL)
