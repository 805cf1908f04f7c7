-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Extends leases of read/write locks and of permits; never shortens, never creates. A writer
-- may become a reader here: then waiting readers are notified. S3 S9; F7;
-- doc/design/redisson-shares.md 1 and 2.
-- KEYS for each: the lock or semaphore, the end of this owner's reading, ids of permits; the
--      first again for what a lease of this mode has not
-- ARGV for each: owner `U:K`, first permit id, `<ttl ms, 0: not extended> <mode wanted>
--      <permits, 0: all of them>`, the channel; last PUBLISH or SPUBLISH
-- answers as redisson/renew.lua
-- Of a token: the last argument is its limit.
if #ARGV % 4 == 2 then
  --@may_return late
end
local time = redis.call('TIME')
local answer = { time[1] * 1000000 + time[2] }
local now_ms = math.floor(answer[1] / 1000)
--@include permit_ids
--@include say
-- To what the watchdog of another reader may shorten a reader's lease: REDISSON_READERS_TTL_MS.
local readers_ttl = 30000
-- Each begins with a write that allocates nothing, so that a full server accepts the others.
local function rw_renew(key, owner, timeout, ttl, mode, channel)
  local writes = redis.call('HEXISTS', key, owner .. ':write') == 1
  if not writes and redis.call('HEXISTS', key, owner) == 0 then
    return -1
  end
  if not writes and timeout == key then
    return 0               -- a writer's request that comes after it has become a reader
  end
  if not writes or mode == 'r' then
    ttl = math.min(ttl, readers_ttl)
  end
  local all = redis.call('PTTL', key)
  local left = math.max(ttl, writes and all or redis.call('PTTL', timeout), 1)
  redis.call('PEXPIRE', key, math.max(all, left))
  if not writes or mode == 'r' then
    redis.call('SET', timeout, '1', 'PX', left)
  end
  if writes and mode == 'r' then
    -- It believes that it writes until it is answered: a removal of nothing is refused before
    -- others may read.
    redis.call('HDEL', key, '')
    redis.call('HSET', key, 'mode', 'read', owner, '1')
    redis.call('HDEL', key, owner .. ':write')
    say(ARGV[#ARGV], channel, '1')
  end
  return left
end
local function permits_renew(timeout, first, ttl, units)
  local deadline = redis.call('ZSCORE', timeout, first)
  local left = deadline and tonumber(deadline) - now_ms or -1
  if not deadline or left >= ttl then
    return left
  end
  local all = redis.call('PTTL', timeout)
  if all > 0 then
    redis.call('PEXPIRE', timeout, all)
  else
    redis.call('PERSIST', timeout)
  end
  local done, most = 0, units > 0 and units or permits_most
  repeat
    local words, count = { 'XX', 'CH' }, math.min(permits_step, most - done)
    for i, id in ipairs(permit_ids(first, done, count)) do
      words[2 * i + 1], words[2 * i + 2] = string.format('%.0f', now_ms + ttl), id
    end
    local changed = redis.call('ZADD', timeout, unpack(words))
    if units > 0 and changed < count then
      return -1
    end
    done = done + count
  until done >= most or changed == 0
  return ttl
end
for i = 1, #KEYS / 3 do
  local key, left = KEYS[3 * i - 2], -1
  local ttl, mode, units = string.match(ARGV[4 * i - 1], '^(%d+) (%a) (%d+)$')
  if redis.call('TYPE', key).ok == 'hash' then
    left = rw_renew(key, ARGV[4 * i - 3], KEYS[3 * i - 1], tonumber(ttl), mode, ARGV[4 * i])
  elseif KEYS[3 * i] ~= key then
    left = permits_renew(KEYS[3 * i], ARGV[4 * i - 2], tonumber(ttl), tonumber(units))
  end
  answer[2 * i] = left < 0 and -1 or 1
  answer[2 * i + 1] = math.max(left, 0)
end
return answer
