# SPDX-License-Identifier: MIT
"""dibs.redis_py.message - the message of a release: its script, and who may receive it."""
from typing import Any, Callable, Tuple

from redis.exceptions import ResponseError

# As redis-py's, and a message. A user without the right to publish releases all the same.
RELEASE = """
if redis.call('get', KEYS[1]) ~= ARGV[1] then
  return 0
end
redis.call('del', KEYS[1])
redis.pcall('publish', 'dibs:free:' .. KEYS[1], '')
return 1
"""

Key = Tuple[int, bytes, float]


def bytes_of(redis: Any, value: Any) -> bytes:
    """A name or a token in the encoding of the client; empty for the value of no key."""
    if value is None or isinstance(value, bytes):
        return value or b''
    encoder = (redis if hasattr(redis, 'get_encoder') else redis.connection_pool).get_encoder()
    return bytes(encoder.encode(value))


def is_of_another_type(error: ResponseError) -> bool:
    """The answer to GET for a key that is no string, and so no lock of ours."""
    return str(error).startswith('WRONGTYPE')


def channel_of(redis: Any, name: Any) -> bytes:
    return b'dibs:free:' + bytes_of(redis, name)


def key_of(redis: Any, name: Any, pause: float) -> Key:
    """Waiters with the same key ask in turn: of one server, one name, as often."""
    return id(getattr(redis, 'connection_pool', redis)), channel_of(redis, name), float(pause)


def receiver_of(redis: Any, make_pool: Callable[..., Any], make_pubsub: Callable[..., Any]) -> Any:
    """A PubSub with connections of its own: those of the client's pool may be limited."""
    pool = getattr(redis, 'connection_pool', None)
    if pool is None:                            # a cluster
        return redis.pubsub()
    options = {option: value for option, value in pool.connection_kwargs.items()
               if not option.startswith('maint_')}     # of the client's pool alone
    return make_pubsub(make_pool(connection_class=pool.connection_class, **options))
