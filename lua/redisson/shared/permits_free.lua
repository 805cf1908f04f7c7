-- SPDX-License-Identifier: MIT
-- Adds `count` free permits; waiters are notified of the free number. A semaphore that was
-- deleted meanwhile, `key` is false then, is not created again. Returns the number of receivers.
local function permits_free(key, count, publish, channel)
  if count > 0 and key then
    local free = redis.call('INCRBY', key, count)
    if free > 0 then
      return say(publish, channel, string.format('%.0f', free))
    end
  end
  return 0
end

-- Changes the number of all permits by `count` to `limit`, and notifies waiters if one is free.
local function permits_change(key, count, limit, publish, channel)
  if redis.call('INCRBY', key, count) > 0 then
    say(publish, channel, limit)
  end
end

-- Before a holder is removed: a user without the right to count its permits would lose them, and is
-- refused by a command that changes nothing. A full server refuses it, too, and accepts the later
-- one.
local function permits_may_free(key)
  local done = key and redis.pcall('INCRBY', key, 0)
  if type(done) == 'table' and not string.find(done.err, 'OOM command', 1, true) then
    redis.call('INCRBY', key, 0)
  end
end

-- Overdue permits return: all of them, by one command.
local function permits_reclaim(key, timeout, now_ms, publish, channel)
  local first = redis.call('ZRANGE', timeout, 0, 0, 'WITHSCORES')[2]
  if first and tonumber(first) <= now_ms then
    permits_may_free(key)
    permits_free(key, redis.call('ZREMRANGEBYSCORE', timeout, '-inf',
      string.format('%.0f', now_ms)), publish, channel)
  end
end
