# SPDX-License-Identifier: MIT
"""dibs.semaphore - permits: at most N holders at a time."""
from typing import TYPE_CHECKING

from dibs._dibs import ffi, lib
from dibs.call import Named
from dibs.hold import Hold
from dibs.lock import Lock
from dibs.options import LockOptions, all_free_target, permits_target

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Semaphore(Named):
    """A number of permits, the same for all clients; client.semaphore() makes it. Before the
    first set() or set_if_absent() of any client, requests raise NotSet."""

    def set(self, permits: int) -> None:
        """Sets how many permits there are. Below the number that are held, none is granted until
        enough are released; 0 is a pause."""
        self._do_bytes(lib.dibs_semaphore_set, permits, 0, ffi.NULL)

    def set_if_absent(self, permits: int) -> int:
        """Sets it if it has no number yet; the number that it has."""
        now = ffi.new('uint32_t *')
        self._do_bytes(lib.dibs_semaphore_set, permits, lib.DIBS_SEMAPHORE_IF_ABSENT, now)
        return int(now[0])

    def delete(self) -> None:
        """Deletes it, also if there is none. Busy: it has holders or waiters."""
        self._do_bytes(lib.dibs_semaphore_delete)

    def permits(self, count: int = 1, **options: 'Unpack[LockOptions]') -> Lock:
        """`count` permits together, in one hold; options as client.lock()."""
        return Lock(self._client, permits_target(self._name, count), dict(options))

    def drain(self, **options: 'Unpack[LockOptions]') -> Hold:
        """All permits that are free, at least one, in one hold; never waits: Busy."""
        return Lock(self._client, all_free_target(self._name), dict(options)).try_acquire()
