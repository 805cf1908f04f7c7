# SPDX-License-Identifier: MIT
"""dibs - distributed locks on Redis and Valkey, as the C library libdibs makes them.

    with dibs.Client("redis://locks") as client:
        with client.lock("orders:42", wait=5, ttl=30) as hold:
            db.execute(UPDATE, fence=hold.fence)

dibs.aio.Client is the same for asyncio; dibs.redis_py.Lock has redis-py's signature.
"""
try:
    from dibs._dibs import ffi as _ffi, lib as _lib
except ImportError as _error:
    if 'libssl' in str(_error) or 'libcrypto' in str(_error):
        raise ImportError('dibs: %s. The wheel uses the OpenSSL 3 of this machine: install it '
                          '(libssl3, openssl-libs), or build dibs from its sdist.' % _error) \
            from _error
    raise
from dibs.client import Client
from dibs.data import List, Map, Set
from dibs.election import Campaign, Election, Leader, Leadership, Observer
from dibs.errors import (
    ArgumentError, AuthError, Broken, Busy, Cancelled, Closed, ConfigError, Denied, Error, Expired,
    Fenced, Forked, LimitError, Lost, NoMemory, NoServer, NotReplicated, NotSet, ProtocolError,
    ReadOnly, Refused, ServerError, Stale, ResourceError, Taken, TimedOut, TLSError, Unknown,
    Unreachable, Unsupported, WouldBlock, WouldDeadlock, WrongType)
from dibs.guard import Guarded, fence_admits
from dibs.hold import Change, Durability, Hold, Loss
from dibs.inspection import Holder, Inspection, Party, stripe
from dibs.latch import Barrier, Latch, Round
from dibs.lock import Lock
from dibs.metrics import ClassMetrics, Metrics, Times
from dibs.names import NameState
from dibs.options import ClientOptions, Event, LockOptions
from dibs.rate import Rate, RateLimiter
from dibs.semaphore import Semaphore

__version__: str = _ffi.string(_lib.dibs_version()).decode()

__all__ = [
    'ArgumentError', 'AuthError', 'Barrier', 'Broken', 'Busy', 'Campaign', 'Cancelled', 'Change',
    'ClassMetrics',
    'Client', 'ClientOptions', 'Closed', 'ConfigError', 'Denied', 'Durability', 'Election', 'Error', 'Event',
    'Expired', 'Fenced', 'Forked', 'Guarded', 'Hold', 'Holder', 'Inspection', 'Latch', 'Leader',
    'Leadership', 'LimitError', 'List', 'Lock', 'LockOptions', 'Loss', 'Lost', 'Map', 'Metrics', 'NameState', 'NoMemory',
    'NoServer', 'NotReplicated', 'NotSet', 'Observer', 'Party', 'ProtocolError', 'Rate',
    'RateLimiter', 'ReadOnly', 'Refused', 'ResourceError', 'Round', 'Semaphore', 'ServerError',
    'Set', 'Stale', 'TLSError', 'Taken', 'TimedOut', 'Times', 'Unknown', 'Unreachable', 'Unsupported',
    'WouldBlock', 'WouldDeadlock', 'WrongType', 'fence_admits', 'stripe']
