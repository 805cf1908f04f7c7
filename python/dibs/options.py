# SPDX-License-Identifier: MIT
"""dibs.options - the options of clients and of lock calls, as the C library wants them."""
from typing import (Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Tuple, TypedDict,
                    Union)

from dibs import callbacks
from dibs._dibs import ffi, lib
from dibs.call import Name, c_name, c_text, refused, to_ms, within
from dibs.errors import error_of, error_room, text_of
from dibs.hold import OnChange, OnLost, Watch

DIALECTS = {name[len('DIBS_DIALECT_'):].lower(): getattr(lib, name) for name in dir(lib)
            if name.startswith('DIBS_DIALECT_') and name != 'DIBS_DIALECT_DEFAULT'}
DEGRADE = {'fail': lib.DIBS_DEGRADE_FAIL, 'wait': lib.DIBS_DEGRADE_WAIT,
           'local': lib.DIBS_DEGRADE_LOCAL}
HISTORY = {'notable': lib.DIBS_HISTORY_NOTABLE, 'all': lib.DIBS_HISTORY_ALL,
           'off': lib.DIBS_HISTORY_OFF}
EVENTS = {lib.DIBS_EVENT_CONNECTED: 'connected', lib.DIBS_EVENT_DISCONNECTED: 'disconnected',
          lib.DIBS_EVENT_LOST: 'lost', lib.DIBS_EVENT_WARNING: 'warning',
          lib.DIBS_EVENT_RECOVERED: 'recovered'}
TEXTS = ('prefix', 'user', 'password', 'ca_file', 'cert_file', 'key_file', 'server_name', 'note',
         'registry', 'sentinel_user', 'sentinel_password', 'config_file', 'password_file',
         'classes')
TIMES = ('connect_timeout', 'command_timeout', 'close_timeout', 'renew_every', 'quarantine',
         'local_handover', 'history_over')
LOWEST, HIGHEST = -0x80000000, 0x7fffffff        # of int32_t; the library says what is allowed
NUMBERS = {'database': (0, 1000000), 'names_max': (LOWEST, HIGHEST),
           'clock_rate_error_ppm': (LOWEST, HIGHEST), 'local_handovers_max': (LOWEST, HIGHEST),
           'history_max': (LOWEST, HIGHEST)}


class Event(NamedTuple):
    """What `on_event` gets: connected, disconnected, lost, warning, recovered; and its text."""
    kind: str
    text: str


OnEvent = Callable[[Event], None]


class ClientOptions(TypedDict, total=False):
    """The options of a client; times in seconds. `dialect`: native, redisson, spring, plain;
    `degrade`: fail, wait, local; `database`: overrides that of the URL; `report`: how often it adds
    to the totals of the fleet, or 'off'; `history`: notable, all, off;
    `classes`: patterns of names that are counted as one, 'orders:*, user:*'."""
    prefix: Optional[str]
    user: Optional[str]
    password: Optional[str]
    password_file: Optional[str]
    ca_file: Optional[str]
    cert_file: Optional[str]
    key_file: Optional[str]
    server_name: Optional[str]
    note: Optional[str]
    dialect: Optional[str]
    registry: Optional[str]
    sentinel_user: Optional[str]
    sentinel_password: Optional[str]
    config_file: Optional[str]
    degrade: Optional[str]
    connect_timeout: Optional[float]
    command_timeout: Optional[float]
    close_timeout: Optional[float]
    renew_every: Optional[float]
    quarantine: Optional[float]
    database: Optional[int]
    names_max: Optional[int]
    clock_rate_error_ppm: Optional[int]
    local_handover: Optional[float]
    local_handovers_max: Optional[int]
    report: Union[float, str, None]
    history: Optional[str]
    history_max: Optional[int]
    history_over: Optional[float]
    classes: Optional[str]
    on_event: Optional[OnEvent]


def one_of(option: str, values: Dict[str, int], given: Optional[str]) -> int:
    if given is None:
        return 0
    if given not in values:
        raise ValueError('dibs: %s is %s, not %r' % (option, ' or '.join(sorted(values)), given))
    return values[given]


def unknown_options(given: Dict[str, Any], known: Any) -> None:
    wrong = sorted(set(given) - set(known.__annotations__))
    if wrong:
        raise TypeError('dibs: unknown option %s; there are %s' % (
            ', '.join(wrong), ', '.join(sorted(known.__annotations__))))


def _receiver_of_events(on_event: OnEvent) -> Callable[[Any], None]:
    def receive(event: Any) -> None:
        on_event(Event(EVENTS.get(event.kind, str(int(event.kind))), text_of(event.text)))

    return receive


def open_client(url: Optional[str], flags: int, given: Dict[str, Any]) -> Tuple[Any, int]:
    """A handle, and the number of its receiver of events."""
    unknown_options(given, ClientOptions)
    given = {name: value for name, value in given.items() if value is not None}
    keep = {name: c_text(name, given[name]) for name in TEXTS if name in given}
    options = ffi.new('dibs_options *', keep)
    for name in TIMES:
        setattr(options, name + '_ms', to_ms(given.get(name), option=name))
    for name in NUMBERS:
        setattr(options, name, within(name + ' is', given.get(name, 0), *NUMBERS[name]))
    if given.get('database') == 0:
        options.database = lib.DIBS_DATABASE_ZERO
    options.size, options.flags = ffi.sizeof('dibs_options'), flags
    options.dialect = one_of('dialect', DIALECTS, given.get('dialect'))
    options.degrade = one_of('degrade', DEGRADE, given.get('degrade'))
    options.history = one_of('history', HISTORY, given.get('history'))
    options.report_ms = _report_ms(given.get('report'))
    number, receive = 0, given.get('on_event')
    if receive is not None:
        number = callbacks.add(_receiver_of_events(receive))
        options.on_event, options.on_event_data = lib.dibs_py_event, callbacks.pointer(number)
    handle, error = ffi.new('dibs_client **'), error_room()
    status = lib.dibs_open(
        ffi.NULL if url is None else c_text('URL', url), options, handle, error)
    if status != lib.DIBS_OK:
        callbacks.remove(number)
        raise error_of(status, error)
    return handle[0], number


class LockOptions(TypedDict, total=False):
    """The options of a lock call; times in seconds.

    `wait`: the longest wait, None without limit. `ttl`: length of the lease, 30. `fixed`: never
    renewed. `max_hold`: renewed for that long. `note`: shown with the holder. `on_lost`: called
    with a Loss. `on_change`: called with each Change; `warn`: with one this long before the end. `reentrant=False`: the same owner again is WouldDeadlock; `owned=False`: has no
    owner, and waits for itself. `linger`: how long the client keeps an idle lease, or 'auto'.
    `min_replicas`: how many must have the grant, or 'majority', within `replicas_wait`; with
    `fsync` on disk; with `report` fewer will do. `fair`, `spin`, `fenced`, `plain_permits`: which
    kind of lock of the dialect redisson."""
    wait: Optional[float]
    ttl: Optional[float]
    max_hold: Optional[float]
    linger: Union[float, str, None]
    note: Optional[str]
    on_lost: OnLost
    on_change: OnChange
    warn: Optional[float]
    min_replicas: Union[int, str]
    replicas_wait: Optional[float]
    fixed: bool
    reentrant: bool
    owned: bool
    fsync: bool
    report: bool
    fair: bool
    spin: bool
    fenced: bool
    plain_permits: bool


FLAGS = (('fixed', False, lib.DIBS_LOCK_FIXED), ('reentrant', True, lib.DIBS_LOCK_NO_REENTRY),
         ('owned', True, lib.DIBS_LOCK_NO_OWNER), ('fsync', False, lib.DIBS_LOCK_FSYNC),
         ('report', False, lib.DIBS_LOCK_REPORT), ('fair', False, lib.DIBS_LOCK_FAIR),
         ('spin', False, lib.DIBS_LOCK_SPIN), ('fenced', False, lib.DIBS_LOCK_FENCED),
         ('plain_permits', False, lib.DIBS_PERMITS_PLAIN))


OPTIONS = ffi.typeof('dibs_lock_options *')
NUMBER = ffi.typeof('uintptr_t *')


class LockCall:
    """The options of one lock, read once; each call gets a copy."""

    def __init__(self, given: Dict[str, Any]) -> None:
        unknown_options(given, LockOptions)
        self.wait_ms = to_ms(given.get('wait'), int(lib.DIBS_FOREVER), 'wait')
        self.on_lost: OnLost = given.get('on_lost')
        self.on_change: OnChange = given.get('on_change')
        self.options = ffi.new(OPTIONS)
        self.options.size = ffi.sizeof('dibs_lock_options')
        self.options.wait_ms = self.wait_ms      # one that is too large is refused here
        for name in ('ttl', 'max_hold', 'replicas_wait', 'warn'):
            setattr(self.options, name + '_ms', to_ms(given.get(name), option=name))
        self.options.linger_ms = _linger_ms(given.get('linger'))
        self.options.min_replicas = _replicas(given.get('min_replicas', 0))
        self.options.flags = sum(bit for name, usual, bit in FLAGS
                                 if bool(given.get(name, usual)) != usual)
        self.options.on_lost = lib.dibs_py_lost
        if self.on_change is not None:
            self.options.on_change = lib.dibs_py_changed
        if given.get('note') is not None:
            self._note = c_text('note', given['note'])
            self.options.note = self._note
        self._unused: List[Tuple[Any, Any, Any]] = []

    def watch(self) -> Watch:
        """For one call."""
        return Watch(self.on_lost, self.on_change)

    def call(self, function: Any, target: Tuple[Any, ...], number: int, wait_ms: int, owner: Any,
             *more: Any) -> int:
        """What `function` answers to the target, a copy with the number of a watch, and more. The
        library has copied the options when it returns: the next call uses this copy again."""
        try:
            copy = self._unused.pop()
        except IndexError:
            options = ffi.new(OPTIONS, self.options[0])
            copy = options, ffi.cast(NUMBER, ffi.addressof(options[0], 'on_lost_data')), None
        options, number_at, last_owner = copy
        options.wait_ms = wait_ms
        number_at[0] = number
        if self.on_change is not None:
            options.on_change_data = callbacks.pointer(number)
        if owner is not last_owner:
            options.owner, options.owner_size = owner, len(owner)
            copy = options, number_at, owner
        status: int = function(*target, options, *more)
        self._unused.append(copy)
        return status


def _not_negative(option: str, ms: int) -> int:
    """In C, -1 ms means something else."""
    if ms < 0:
        raise refused('%s is %g s: it must not be negative' % (option, ms / 1000))
    return ms


def _report_ms(report: Union[float, str, None]) -> int:
    if report == 'off':
        return int(lib.DIBS_REPORT_OFF)
    if isinstance(report, str):
        raise ValueError("dibs: report is a number of seconds or 'off', not %r" % report)
    return _not_negative('report', to_ms(report, option='report'))


def _linger_ms(linger: Union[float, str, None]) -> int:
    if linger == 'auto':
        return int(lib.DIBS_LINGER_AUTO)
    if isinstance(linger, str):
        raise ValueError("dibs: linger is a number of seconds or 'auto', not %r" % linger)
    return _not_negative('linger', to_ms(linger, option='linger'))


def _replicas(count: Union[int, str]) -> int:
    if count == 'majority':
        return int(lib.DIBS_REPLICAS_MAJORITY)
    if isinstance(count, str):
        raise ValueError("dibs: min_replicas is a number or 'majority', not %r" % count)
    return within('min_replicas is', count, 0, HIGHEST, ", or 'majority'")


class Target:
    """A dibs_target, `c`, of names made by c_name(), that is valid as long as this object."""

    def __init__(self, kind: int, names: List[Any], units: int = 0, value: Any = None) -> None:
        self._texts = names
        self._names = ffi.new('dibs_bytes[]', [_bytes_of(text) for text in names])
        self.c = ffi.new('dibs_target *')
        self.c.size, self.c.kind, self.c.units = ffi.sizeof('dibs_target'), kind, units
        self.c.names, self.c.name_count = self._names, len(names)
        if value is not None:
            self._value = c_text('value', value)
            self.c.value = _bytes_of(self._value)


def _bytes_of(text: Any) -> Any:
    return {'bytes': text, 'size': len(text) - 1}


def lock_target(name: Name) -> Target:
    return Target(int(lib.DIBS_TARGET_LOCK), [c_name(name)])


def read_target(name: Name) -> Target:
    return Target(int(lib.DIBS_TARGET_READ), [c_name(name)])


def write_target(name: Name) -> Target:
    return Target(int(lib.DIBS_TARGET_WRITE), [c_name(name)])


def names_target(names: Iterable[Name]) -> Target:
    if isinstance(names, (str, bytes)):
        raise TypeError('dibs: lock_many() wants a list of names, not the one name %r' % names)
    texts = [c_name(name) for name in names]
    # One name is a set, too, which has no re-entry: given twice it counts once.
    return Target(int(lib.DIBS_TARGET_LOCK), texts * 2 if len(texts) == 1 else texts)


def permits_target(name: Any, count: int) -> Target:
    """0 and the largest number have a meaning in a dibs_target; as a count they are refused."""
    if not 0 < count < int(lib.DIBS_UNITS_ALL_FREE):
        within('permits are', count, 1, int(lib.DIBS_PERMITS_MAX))
    return Target(int(lib.DIBS_TARGET_PERMITS), [name], count)


def all_free_target(name: Any) -> Target:
    return Target(int(lib.DIBS_TARGET_PERMITS), [name], int(lib.DIBS_UNITS_ALL_FREE))


def lead_target(name: Any, value: Any) -> Target:
    return Target(int(lib.DIBS_TARGET_LEAD), [name], 0, value)
