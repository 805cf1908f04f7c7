# SPDX-License-Identifier: MIT
"""dibs.redis_py.aio - redis.asyncio.lock.Lock, whose waiters get a message when the lock is free."""
import asyncio
import contextlib
import uuid
from typing import Any, Optional, Tuple, Union

import redis.asyncio.lock
from redis.exceptions import LockError, LockNotOwnedError, RedisError, ResponseError

from dibs.redis_py.lock import UNANSWERED, Local, Number
from dibs.redis_py.message import RELEASE, bytes_of, is_of_another_type
from dibs.redis_py.tasks import Place, asked, begun, end_of, is_awaited, or_back, repeated


class Lock(redis.asyncio.lock.Lock):
    """As redis.asyncio.lock.Lock, with its arguments. A cancelled task leaves no key behind: the
    release of what it was granted, or was releasing, goes on without it."""

    LUA_RELEASE_SCRIPT = RELEASE
    lua_release = lua_extend = lua_reacquire = None

    def __init__(self, redis: Any, name: Any, *arguments: Any, **options: Any) -> None:
        super().__init__(redis, name, *arguments, **options)
        if self.thread_local:
            self.local = Local()
        self._release_of: Tuple[Any, Any] = None, None

    async def acquire(self, blocking: Optional[bool] = None,
                      blocking_timeout: Optional[Number] = None,
                      token: Union[str, bytes, None] = None) -> bool:
        """Acquires it; False: another task or client holds it still."""
        is_blocking = self.blocking if blocking is None else blocking
        limit = self.blocking_timeout if blocking_timeout is None else blocking_timeout
        loop = asyncio.get_running_loop()
        end = None if limit is None else loop.time() + limit
        mine = uuid.uuid4().hex.encode() if token is None else bytes_of(self.redis, token)
        if not (is_blocking and is_awaited(self.redis, self.name, self.sleep)):
            if await self._ask(mine, token is None):
                return True
            if not is_blocking:
                return False
        async with Place(self.redis, self.name, self.sleep) as place:
            if not await place.comes(None if end is None else end - loop.time()):
                return False
            while True:
                await place.listen()
                if await self._ask(mine, token is None):
                    return True
                if end is not None and loop.time() + self.sleep > end:
                    return False
                await place.sleep(asyncio.sleep(self.sleep))

    async def _ask(self, token: Any, is_unique: bool) -> bool:
        """A command that redis-py has sent twice finds its own token."""

        async def ask() -> bool:
            return await self.do_acquire(token) or (is_unique and await self._has(token))

        has: bool = await asked(ask, lambda: self._give_back(token, is_unique))
        if has:
            self.local.token, self.local.made = token, token if is_unique else None
        return has

    async def _has(self, token: Any) -> bool:
        try:
            return bytes_of(self.redis, await self.redis.get(self.name)) == bytes(token)
        except ResponseError as error:
            if is_of_another_type(error):
                return False
            raise

    async def _give_back(self, token: Any, is_repeated: bool) -> None:
        """A token that the caller has given may be given again, and must not be released then."""
        with contextlib.suppress(*() if is_repeated else (RedisError, OSError)):
            await self.do_release(token)

    async def release(self) -> None:
        """Releases it. After a cancelled release, another one awaits that one. Without an answer it
        raises, goes on without its caller, and may be called again: LockNotOwnedError says then
        that it was released."""
        token = self.local.token
        if token is None:
            raise LockError("Cannot release a lock that's not owned or is already unlocked.")
        of, task = self._release_of
        if of != token or task.done():
            task = begun(or_back(lambda: self._release(token), lambda: self.do_release(token)))
            self._release_of = token, task
        await end_of(task, lambda: self.do_release(token))

    async def _release(self, token: Any) -> None:
        try:
            await self.do_release(token)
        except LockNotOwnedError:
            self._forget(token)
            raise
        except UNANSWERED:
            if getattr(self.local, 'made', None) == token:
                repeated(lambda: self.do_release(token))
            raise
        self._forget(token)

    def _forget(self, token: Any) -> None:
        if self.local.token == token:
            self.local.token = None
