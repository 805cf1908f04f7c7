# SPDX-License-Identifier: MIT
"""dibs.aio - locks for asyncio, in the event loop itself.

    async with dibs.aio.Client() as client:
        async with client.lock("orders:42", wait=5) as hold:
            await work(fence=hold.fence)

The client has no thread: the loop watches one descriptor of the library, and renews the leases. A
loop that is blocked for longer than a lease loses it. Cancelling a task cancels its request.

Locks, permits, campaigns, releases and the waits of latches, barriers and rate limiters are
asynchronous in the library. Calls that ask the server once (set(), count(), inspect(), guarded
writes, data ...) have no such form in it: they run on the loop's default executor.
"""
from dibs.aio.client import Client
from dibs.aio.data import List, Map, Set
from dibs.aio.election import Campaign, Election, Leadership, Observer
from dibs.aio.lock import Hold, Lock
from dibs.aio.named import Barrier, Guarded, Latch, RateLimiter, Semaphore

__all__ = ['Barrier', 'Campaign', 'Client', 'Election', 'Guarded', 'Hold', 'Latch', 'Leadership',
           'List', 'Lock', 'Map', 'Observer', 'RateLimiter', 'Semaphore', 'Set']
