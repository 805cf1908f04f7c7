-- SPDX-License-Identifier: MIT
-- So many permits come back; who waits is told how many are free now. A semaphore that was
-- deleted meanwhile is not made again. How many heard it.
local function permits_free(key, count, publish, channel)
  if count > 0 and redis.call('EXISTS', key) == 1 then
    local free = redis.call('INCRBY', key, count)
    if free > 0 then
      return say(publish, channel, string.format('%.0f', free))
    end
  end
  return 0
end

-- Permits whose time is over come back: all of them, however many, by one command.
local function permits_reclaim(key, timeout, now_ms, publish, channel)
  permits_free(key, redis.call('ZREMRANGEBYSCORE', timeout, '-inf',
    string.format('%.0f', now_ms)), publish, channel)
end
