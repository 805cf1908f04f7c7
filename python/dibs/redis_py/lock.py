# SPDX-License-Identifier: MIT
"""dibs.redis_py.lock - redis.lock.Lock, whose waiters get a message when the lock is free."""
import threading
import uuid
from typing import Any, Optional, Union

import redis.lock
from redis.exceptions import (ConnectionError, LockError, LockNotOwnedError, RedisError,
                              ResponseError, TimeoutError)

from dibs.redis_py import undo
from dibs.redis_py.message import RELEASE, bytes_of, is_of_another_type
from dibs.redis_py.threads import Clock, Place, is_awaited

Number = Union[int, float]
UNANSWERED = ConnectionError, TimeoutError
mod_time = Clock()


class Local(threading.local):
    """Each thread has no token at first: redis-py's has none for other threads to read."""

    token: Optional[bytes] = None
    made: Optional[bytes] = None            # the last token that acquire() has made


class Lock(redis.lock.Lock):
    """As redis.lock.Lock, with its arguments."""

    LUA_RELEASE_SCRIPT = RELEASE
    lua_release = lua_extend = lua_reacquire = None
    redis: Any

    def __init__(self, redis: Any, name: Any, *arguments: Any, **options: Any) -> None:
        super().__init__(  # pyright: ignore[reportUnknownMemberType]
            redis, name, *arguments, **options)
        if self.thread_local:
            self.local = Local()

    def acquire(self, sleep: Optional[Number] = None, blocking: Optional[bool] = None,
                blocking_timeout: Optional[Number] = None,
                token: Union[str, bytes, None] = None) -> bool:
        """Acquires it; False: another client holds it still."""
        pause = self.sleep if sleep is None else sleep
        is_blocking = self.blocking if blocking is None else blocking
        limit = self.blocking_timeout if blocking_timeout is None else blocking_timeout
        end = None if limit is None else mod_time.monotonic() + limit
        mine = uuid.uuid4().hex.encode() if token is None else bytes_of(self.redis, token)
        if not (is_blocking and is_awaited(self.redis, self.name, pause)):
            if self._ask(mine, token is None):
                return True
            if not is_blocking:
                return False
        place, has = Place(self.redis, self.name, pause), False
        try:
            with place:
                if not place.comes(None if end is None else end - mod_time.monotonic()):
                    return False
                while True:
                    place.listen()
                    has = self._ask(mine, token is None)
                    if has or end is not None and mod_time.monotonic() + pause > end:
                        return has
                    mod_time.sleep(pause)
        except BaseException:                   # Ctrl-C, too, while the place is entered or left
            place.leave()
            if has:
                self._give_back(mine, token is None)
            raise

    def _ask(self, token: bytes, is_unique: bool) -> bool:
        """What may have been granted without an answer is given back. A command that redis-py has
        sent twice finds its own token."""
        try:
            has: bool = self.do_acquire(token) or (  # type: ignore[arg-type, unused-ignore]
                is_unique and self._has(token))
        except BaseException as exception:
            if not isinstance(exception, Exception) or isinstance(exception, UNANSWERED):
                self._give_back(token, is_unique)
            raise
        if has:
            self.local.token, self.local.made = token, token if is_unique else None
        return has

    def _has(self, token: bytes) -> bool:
        try:
            return bytes_of(self.redis, self.redis.get(self.name)) == token
        except ResponseError as error:
            if is_of_another_type(error):
                return False
            raise

    def release(self) -> None:
        """Releases it. Without an answer it raises, goes on in the background, and may be called
        again: LockNotOwnedError says then that it was released."""
        token = self.local.token
        if token is None:
            raise LockError("Cannot release a lock that's not owned or is already unlocked.")
        try:
            self._release(token)
            self._forget(token)
        except LockNotOwnedError:
            self._forget(token)
            raise
        except UNANSWERED:
            if self._is_made(token):
                undo.repeat(lambda: self._release(token))
            raise
        except BaseException as exception:
            if not isinstance(exception, Exception):
                self._give_back(token, self._is_made(token))
            raise

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        try:
            super().__exit__(kind, value, trace)
        except BaseException as exception:      # Ctrl-C may come before the first line of release()
            token = self.local.token
            if not isinstance(exception, Exception) and token is not None:
                self._give_back(token, self._is_made(token))
            raise

    def _is_made(self, token: bytes) -> bool:
        """A token that the caller has given may be given again, and must not be released then."""
        return getattr(self.local, 'made', None) == token

    def _release(self, token: bytes) -> None:
        self.do_release(token)  # type: ignore[arg-type, unused-ignore]

    def _give_back(self, token: bytes, is_repeated: bool) -> None:
        try:
            self._release(token)
        except LockError:
            pass
        except BaseException as exception:
            if is_repeated:
                undo.repeat(lambda: self._release(token))
            if not isinstance(exception, (RedisError, OSError)):
                raise
        self._forget(token)

    def _forget(self, token: bytes) -> None:
        if self.local.token == token:
            self.local.token = None
