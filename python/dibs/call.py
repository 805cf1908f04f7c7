# SPDX-License-Identifier: MIT
"""dibs.call - what the calls have in common: values of C, results, and waits that Ctrl-C ends."""
import math
import threading
from typing import TYPE_CHECKING, Any, Callable, List, Optional, Union

from dibs import callbacks
from dibs._dibs import ffi, lib
from dibs.errors import ArgumentError, Error, check, error_of

if TYPE_CHECKING:
    from dibs.client import Opened

FOREVER = int(lib.DIBS_FOREVER)
Name = Union[str, bytes]
Data = Union[str, bytes]


def refused(text: str) -> ArgumentError:
    return ArgumentError(text, int(lib.DIBS_ERR_ARGUMENT))


def to_ms(seconds: Optional[float], none: int = 0, option: str = '') -> int:
    """Milliseconds, rounded up: 0.0001 s is not 0, which would mean "the default". Those of an
    `option` have 32 bits."""
    if seconds is None:
        return none
    if isinstance(seconds, float) and not math.isfinite(seconds):
        raise refused('%r is not a number of seconds' % seconds)
    ms = -int(-seconds * 1000 // 1)
    if option and not -FOREVER <= ms <= FOREVER:
        raise refused('%s is %r s; allowed are at most %d s'
                      % (option, seconds, lib.DIBS_MS_MAX // 1000))
    return ms


def within(what: str, number: int, low: int, high: int, other: str = '') -> int:
    if not low <= number <= high:
        raise refused('%s %d; allowed are %d to %d%s' % (what, number, low, high, other))
    return number


def called(function: Any, *arguments: Any) -> int:
    """What a function of the library returns. cffi does not say which number has no room."""
    try:
        return int(function(*arguments))
    except OverflowError:
        for kind, value in zip(ffi.typeof(function).args, arguments):
            if kind.kind == 'primitive' and isinstance(value, int):
                highest = int(ffi.cast(kind, -1))
                low = 0
                if highest < 0:
                    highest = (1 << (8 * ffi.sizeof(kind) - 1)) - 1
                    low = -highest - 1
                within('a number is', value, low, highest)
        raise


def to_bytes(data: Data) -> bytes:
    """bytes(3) would be three zero bytes."""
    return data.encode() if isinstance(data, str) else bytes(memoryview(data))


def c_text(what: str, text: Data) -> Any:
    """A C string, which cannot have a zero byte."""
    data = to_bytes(text)
    if b'\0' in data:
        raise refused('%s %r has a zero byte' % (what, text))
    return ffi.new('char[]', data)


def c_name(name: Name) -> Any:
    return c_text('name', name)


class Bytes:
    """A dibs_bytes, `c`, that is valid as long as this object."""

    def __init__(self, data: Data) -> None:
        self._keep = ffi.from_buffer(to_bytes(data))
        self.c = ffi.new('dibs_bytes *', {'bytes': self._keep, 'size': len(self._keep)})[0]


def bytes_of(chars: Any) -> Any:
    """The dibs_bytes of a C string, which must live as long."""
    return ffi.new('dibs_bytes *', {'bytes': chars, 'size': len(chars) - 1})[0]


def of_bytes(data: Any) -> bytes:
    return bytes(ffi.buffer(data.bytes, data.size)) if data.size else b''


def wait_options(wait_ms: int) -> Any:
    options = ffi.new('dibs_wait_options *')
    options.size, options.wait_ms = ffi.sizeof('dibs_wait_options'), wait_ms
    return options


def take_value(value: Any) -> Optional[bytes]:
    """The bytes of a dibs_value, which is freed; None for NULL."""
    if value == ffi.NULL:
        return None
    try:
        return of_bytes(value)
    finally:
        lib.dibs_value_free(value)


def c_values(arguments: Any) -> List[Any]:
    return [value.c if isinstance(value, Bytes) else value for value in arguments]


def do(function: Any, *arguments: Any) -> None:
    check(called(function, *c_values(arguments)))


def get(kind: str, function: Any, *arguments: Any) -> Any:
    """What a call writes through its last argument, a pointer to `kind`."""
    result = ffi.new(kind + ' *')
    check(called(function, *c_values(arguments), result))
    return result[0]


def get_value(function: Any, *arguments: Any) -> Optional[bytes]:
    return take_value(get('dibs_value *', function, *arguments))


def walk(function: Any, callback: Any, visit: Callable[..., bool], *arguments: Any) -> None:
    """A walk of the library. What `visit` raises ends the walk, and is raised here."""
    raised: List[BaseException] = []

    def guarded(*got: Any) -> bool:
        try:
            return visit(*got)
        except BaseException as exception:
            raised.append(exception)
            return False

    number = callbacks.add(guarded)
    try:
        status = function(*arguments, callback, callbacks.pointer(number))
    finally:
        callbacks.remove(number)
    if raised:
        raise raised[0]
    check(status)


def signals_reach_here() -> bool:
    """Signals reach Python code in the main thread only, and not while it is inside the
    library: there a wait is a request that Ctrl-C can cancel."""
    return threading.current_thread() is threading.main_thread()


def wait_interruptibly(start: Callable[[Any, Any], int],
                       receive: Optional[Callable[..., None]] = None) -> None:
    """A request of the library, which `start(data, request)` begins; `receive` gets what its
    callback brings beside the error. Ctrl-C cancels it, and is raised when it is over."""
    faults: List[Error] = []
    is_over: List[bool] = []
    turn = threading.Lock()                     # an Event, where a signal raises, may never be set
    turn.acquire()

    def ended(error: Any, *result: Any) -> None:
        try:
            if receive is not None:
                receive(*result)
            if error.status != lib.DIBS_OK:
                faults.append(error_of(error.status, error))
        finally:
            is_over.append(True)
            turn.release()

    number, request = callbacks.add(ended), ffi.new('dibs_request **')
    try:
        check(start(callbacks.pointer(number), request))
        turn.acquire()
    except BaseException:
        if request[0] != ffi.NULL:
            _cancel(request[0], is_over, turn)
        raise
    finally:
        callbacks.remove(number)
    if faults:
        raise faults[0]


def _cancel(request: Any, is_over: List[bool], turn: threading.Lock) -> None:
    """Returns when the request is over. The first Ctrl-C is already on its way to the caller:
    further ones add nothing."""
    lib.dibs_request_cancel(request)
    while not is_over:
        try:
            turn.acquire()
        except KeyboardInterrupt:
            pass


def wait_plainly(client: 'Opened', wait: Optional[float], block: Any, start: Any,
                 *target: Any) -> None:
    """The wait of a latch or a rate limiter: `block` in a thread, `start` where Ctrl-C must
    end it."""
    options = wait_options(to_ms(wait, FOREVER, 'wait'))
    if wait == 0 or not signals_reach_here():
        check(called(block, client.handle, *target, options))
        return
    wait_interruptibly(lambda data, request: called(
        start, client.handle, *target, options, lib.dibs_py_over, data, request))


class Named:
    """A synchronizer of one name, through one client."""

    def __init__(self, client: 'Opened', name: Name) -> None:
        self._client, self._name = client, c_name(name)

    def _do(self, function: Any, *arguments: Any) -> None:
        do(function, self._client.handle, self._name, *arguments)

    def _do_bytes(self, function: Any, *arguments: Any) -> None:
        do(function, self._client.handle, bytes_of(self._name), *arguments)

    def _get(self, kind: str, function: Any, *arguments: Any) -> Any:
        return get(kind, function, self._client.handle, self._name, *arguments)

    def __repr__(self) -> str:
        return '<dibs.%s %r>' % (type(self).__name__, ffi.string(self._name))
