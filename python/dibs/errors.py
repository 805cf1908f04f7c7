# SPDX-License-Identifier: MIT
"""dibs.errors - one exception for each status of the library."""
from typing import Any, Dict, Type

from dibs._dibs import ffi, lib


class Error(Exception):
    """A call did not succeed. `status`: the number of the status; `text`: what was wrong, as the
    library says it; `server`: the address of the server, or an empty string; `hint`: what can be
    done about this kind of error, or an empty string."""

    hint = ''

    def __init__(self, text: str, status: int = 0, server: str = '') -> None:
        super().__init__('%s (%s)' % (text, server) if server and server not in text else text)
        self.text, self.status, self.server = text, status, server

    @property
    def is_retriable(self) -> bool:
        """Whether the same call may succeed later without changing anything."""
        return bool(lib.dibs_status_is_retriable(self.status))


class Busy(Error):
    """Another client holds it, and this call does not wait."""

    hint = 'Wait for it: acquire() with wait=.'


class TimedOut(Error, TimeoutError):
    """`wait` is over, and another client still holds it."""

    hint = 'Try again later, or wait longer.'


class Cancelled(Error):
    """The request was cancelled."""


class Lost(Error):
    """The hold had ended before; another client may have had the name since."""

    hint = ('Another client may have worked under this name meanwhile: check the work done, and '
            'let the resource compare fences.')


class Expired(Lost):
    """The hold had ended before; no other client had the name since."""

    hint = 'No other client had the name meanwhile. A longer ttl helps against long pauses.'


class Taken(Lost):
    """The hold had ended before, and another lease holds the name now."""


class WouldDeadlock(Error):
    """The caller would wait for itself, directly or in a cycle."""

    hint = 'Release what this thread holds first, or take all names with lock_many().'


class Unknown(Error):
    """Sent, and no reply came: it may or may not have been executed."""

    hint = 'Nothing is owned. A lease may exist on the server for at most one ttl; try again.'


class Broken(Error):
    """Barrier: a party gave up or ended."""

    hint = 'Call reset() on the barrier before its next round.'


class Fenced(Error):
    """Guarded write: a newer fence was seen, nothing was written."""

    hint = 'This hold has ended: stop writing under it.'


class ArgumentError(Error, ValueError):
    """A value is out of range; nothing was done."""


class NoMemory(Error, MemoryError):
    """Out of memory; nothing was done."""


class Unreachable(Error, ConnectionError):
    """No server answers, or it cannot decide for now."""

    hint = 'Check that the server runs and that the URL names it; dibs doctor examines it.'


class AuthError(Error):
    """Wrong credentials."""

    hint = 'Check user and password.'


class Denied(Error):
    """An ACL forbids a command, key or channel."""

    hint = ('dibs acl prints the rights that a user needs; options add those for latches, '
            'limiters, data.')


class Refused(Error):
    """The server cannot write now; nothing was written."""

    hint = 'The server cannot write now: look at its memory, disk and replicas.'


class ReadOnly(Error):
    """The server is a replica."""

    hint = 'The URL names a replica: name the primary, or all servers.'


class WrongType(Error, TypeError):
    """The key holds something that is not this kind of lock."""

    hint = 'Use another name: the key has another kind of value.'


class ProtocolError(Error):
    """The peer does not use RESP, or a reply is too large."""


class TLSError(Error):
    """Certificate, host name or handshake."""

    hint = ('ca_file names the certificate of the authority; without it the machine needs the '
            'package ca-certificates.')


class ConfigError(Error, ValueError):
    """A URL, file or environment variable is wrong."""


class NoServer(Error):
    """No server program for the private server."""

    hint = 'Name a server (DIBS_URL), or install redis-server or valkey-server.'


class Forked(Error):
    """The handle belongs to the parent process; open a client in the child."""

    hint = 'Open a client in each process, after the fork.'


class Closed(Error):
    """The client is being closed."""

    hint = 'Open another client.'


class Stale(Error):
    """The hold was released, or the client closed, before."""

    hint = 'Use a hold or client once only; acquire again.'


class WouldBlock(Error):
    """A blocking call inside a callback, or in a signal handler that interrupted a call."""

    hint = 'Only calls that do not block are allowed in a callback.'


class Unsupported(Error):
    """The server or dialect cannot do this."""


class ResourceError(Error, OSError):
    """The operating system refused: descriptors, threads."""


class ServerError(Error):
    """Any other error answer of the server."""


class NotSet(Error):
    """Nothing was set yet for this semaphore, latch or limiter."""

    hint = 'Call set() or set_if_absent() first.'


class NotReplicated(Error):
    """Too few replicas acknowledged the grant in time; it was given back."""

    hint = 'Try again when the replicas are connected, or ask for fewer.'


class LimitError(Error):
    """The client has names_max names in memory."""

    hint = 'Release names, or raise names_max.'


BY_STATUS: Dict[int, Type[Error]] = {
    lib.DIBS_BUSY: Busy, lib.DIBS_TIMED_OUT: TimedOut,
    lib.DIBS_CANCELLED: Cancelled, lib.DIBS_LOST: Lost,
    lib.DIBS_EXPIRED: Expired, lib.DIBS_TAKEN: Taken,
    lib.DIBS_WOULD_DEADLOCK: WouldDeadlock, lib.DIBS_UNKNOWN: Unknown,
    lib.DIBS_BROKEN: Broken, lib.DIBS_FENCED: Fenced,
    lib.DIBS_ERR_ARGUMENT: ArgumentError, lib.DIBS_ERR_NO_MEMORY: NoMemory,
    lib.DIBS_ERR_UNREACHABLE: Unreachable, lib.DIBS_ERR_AUTH: AuthError,
    lib.DIBS_ERR_DENIED: Denied, lib.DIBS_ERR_REFUSED: Refused,
    lib.DIBS_ERR_READ_ONLY: ReadOnly, lib.DIBS_ERR_WRONG_TYPE: WrongType,
    lib.DIBS_ERR_PROTOCOL: ProtocolError, lib.DIBS_ERR_TLS: TLSError,
    lib.DIBS_ERR_CONFIG: ConfigError, lib.DIBS_ERR_NO_SERVER: NoServer,
    lib.DIBS_ERR_FORKED: Forked, lib.DIBS_ERR_CLOSED: Closed,
    lib.DIBS_ERR_STALE: Stale, lib.DIBS_ERR_WOULD_BLOCK: WouldBlock,
    lib.DIBS_ERR_UNSUPPORTED: Unsupported, lib.DIBS_ERR_SYSTEM: ResourceError,
    lib.DIBS_ERR_SERVER: ServerError, lib.DIBS_ERR_NOT_SET: NotSet,
    lib.DIBS_ERR_NOT_REPLICATED: NotReplicated, lib.DIBS_ERR_LIMIT: LimitError}


def text_of(chars: Any) -> str:
    return str(ffi.string(chars).decode('utf-8', 'replace'))


def error_room() -> Any:
    """A dibs_error for the library to fill."""
    return ffi.new('dibs_error *', {'size': ffi.sizeof('dibs_error')})


def error_of(status: int, error: Any = None) -> Error:
    """The exception for `status`; `error`: a dibs_error, used if it is about this status."""
    text, server = text_of(lib.dibs_status_text(status)), ''
    if error is not None and error.status == status and error.text[0] != b'\0':
        text, server = text_of(error.text), text_of(error.node)
    return BY_STATUS.get(status, Error)(text, status, server)


def check(status: int) -> None:
    """Raises the exception of a call of this thread that did not return DIBS_OK."""
    if status == 0:                            # DIBS_OK
        return
    error = error_room()
    lib.dibs_client_error(ffi.NULL, 0, error)
    raise error_of(status, error)
