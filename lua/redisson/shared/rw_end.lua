-- SPDX-License-Identifier: MIT
-- The remaining time of other readers, by their timeout keys. These are not in KEYS, because
-- the caller cannot know them: the owners are fields of the hash. They are in its slot, and
-- Redisson's own scripts read them in this way; without it one dead reader would block
-- writers while other readers come and go.
local function rw_left(key, place)
  local fields, left = redis.call('HGETALL', key), 0
  for i = 1, #fields, 2 do
    for hold = 1, tonumber(fields[i + 1]) or 0 do
      left = math.max(left, redis.call('PTTL',
        place .. fields[i] .. ':rwlock_timeout:' .. hold))
    end
  end
  return left
end

-- Ends what this owner has of a read/write lock; returns whether it had any, and the number
-- of receivers. `by_others`: the owner is notified, as it may still believe in it, also where
-- the lock is free for no waiter.
local function rw_end(key, owner, timeout, publish, channel, by_others)
  local mode = redis.call('HGET', key, 'mode')
  local writes = redis.call('HDEL', key, owner .. ':write') == 1
  local reads = redis.call('HDEL', key, owner) == 1
  redis.call('DEL', timeout)
  if not writes and not reads then
    return false, 0
  end
  local place = string.sub(timeout, 1, -1 - #(owner .. ':rwlock_timeout:1'))
  local left = rw_left(key, place)
  if left <= 0 and (writes or mode == 'read') then
    redis.call('DEL', key)
    return true, say(publish, channel, writes and '1' or '0')
  end
  if left > 0 then
    redis.call('PEXPIRE', key, left)
  end
  if writes then
    redis.call('HSET', key, 'mode', 'read')
    return true, say(publish, channel, '1')
  end
  return true, by_others and say(publish, channel, '0') or 0
end
