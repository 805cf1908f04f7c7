# SPDX-License-Identifier: MIT
"""dibs.redis_py - redis-py's Lock, and a waiter has it at once.

    from dibs.redis_py import Lock          # was: from redis.lock import Lock
    with Lock(redis, "orders:42", timeout=30, blocking_timeout=5):
        ...

`redis` is your redis.Redis. Keys, scripts, options, results and errors are redis-py's, whose class
is the base: programs with either exclude each other. dibs.redis_py.aio.Lock is that of
redis.asyncio. What is different: a release publishes a message, which ends the pause of a waiter of
this class; the threads or tasks of a process that wait for one name ask in turn, one at a time; a
call that is interrupted or cancelled leaves no key behind. The locks of dibs.Client(url,
dialect="plain") are the same keys and the same messages, renewed while they are held, with a report
of a loss.
"""
from dibs.redis_py import aio
from dibs.redis_py.lock import Lock

__all__ = ['Lock', 'aio']
