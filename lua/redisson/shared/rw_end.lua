-- SPDX-License-Identifier: MIT
-- The remaining time of other readers, by their timeout keys. These are not in KEYS, because
-- the caller cannot know them: the owners are fields of the hash. They are in its slot, and
-- Redisson's own scripts read them in this way; without it one dead reader would block
-- writers while other readers come and go.
local function rw_left(key, place, owner)
  local fields, left = redis.call('HGETALL', key), 0
  for i = 1, #fields, 2 do
    local is_own = fields[i] == owner or fields[i] == owner .. ':write'
    for hold = 1, is_own and 0 or tonumber(fields[i + 1]) or 0 do
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
  local mode, writes, reads = unpack(redis.call('HMGET', key, 'mode', owner .. ':write', owner))
  if not writes and not reads then
    -- Also a removal after which a full server accepts the note that this ask is over.
    redis.pcall('DEL', timeout)
    return false, 0
  end
  local place = string.sub(timeout, 1, -1 - #(owner .. ':rwlock_timeout:1'))
  local left = rw_left(key, place, owner)
  if left <= 0 and (writes or mode == 'read') then
    redis.call('DEL', key, timeout)
    return true, say(publish, channel, writes and '1' or '0')
  end
  if writes then
    -- A removal of nothing first: a user without the right to it is refused with nothing changed,
    -- and a full server accepts the rest.
    redis.call('HDEL', key, '')
    redis.call('HSET', key, 'mode', 'read')
  end
  redis.call('HDEL', key, owner .. ':write', owner)
  -- Without these the lock is kept until its end at the latest.
  redis.pcall('DEL', timeout)
  if left > 0 then
    redis.pcall('PEXPIRE', key, left)
  end
  if writes or by_others then
    return true, say(publish, channel, writes and '1' or '0')
  end
  return true, 0
end
