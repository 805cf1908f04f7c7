# SPDX-License-Identifier: MIT
"""dibs.redis_py.undo - the releases that a server did not answer: a thread repeats them until it
does."""
import atexit
import os
import threading
import time
from collections import deque
from typing import Any, Callable, Deque, Optional, Tuple

from redis.exceptions import LockError

LIMIT_S = 60.0                # for how long a release is repeated
LAST_S = 5.0                  # how long a server may delay the end of the process, or of a loop
PAUSE_S = 0.1                 # after an attempt without an answer


class Unanswered:
    """What is to be released, and the thread that does it while there is something."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._left: Deque[Tuple[float, Callable[[], Any]]] = deque()
        self._thread: Optional[threading.Thread] = None

    def add(self, release: Callable[[], Any]) -> None:
        self._left.append((time.monotonic() + LIMIT_S, release))
        with self._mutex:
            if self._thread is None:
                thread = threading.Thread(target=self._run, name='dibs.redis_py', daemon=True)
                thread.start()
                self._thread = thread

    def _run(self) -> None:
        while True:
            with self._mutex:
                if not self._left:
                    self._thread = None
                    return
                end, release = self._left.popleft()
            try:
                release()
            except LockError:                    # the key is not there, or is another holder's
                pass
            except Exception:
                if time.monotonic() < end:
                    self._left.append((end, release))
                time.sleep(PAUSE_S)

    def wait(self, seconds: float) -> None:
        thread = self._thread
        if thread is not None:
            thread.join(seconds)


_unanswered = Unanswered()


def repeat(release: Callable[[], Any]) -> None:
    """Calls `release` in a thread until the server answers it, for LIMIT_S at most."""
    _unanswered.add(release)


def _begin_again() -> None:
    """In a forked child: the releases are its parent's, whose thread may have the mutex."""
    global _unanswered
    _unanswered = Unanswered()


os.register_at_fork(after_in_child=_begin_again)


@atexit.register
def _at_the_end() -> None:
    _unanswered.wait(LAST_S)
