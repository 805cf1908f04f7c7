-- SPDX-License-Identifier: MIT
-- Asks for permits of Redisson's RPermitExpirableSemaphore, or of its RSemaphore. Properties
-- S1' S8 S10 L12; doc/design/redisson-shares.md 2 and 3.
-- KEYS 1 the semaphore  2 the end of this ask  3 ids of permits, by their ends
--      4 what this ask has taken without a lease
-- ARGV 1 first permit id  2 ttl ms  3 until (0: none)
--      4 `<mode w|t> <p|u> <permits>/<limit>`, u: without a lease; 0: all that are free; the limit
--        as in native/share_acquire.lua, that of `u` is not compared  5 floor
--      6 PUBLISH or SPUBLISH  7 the channel
-- answers as native/share_acquire.lua. Of other holders only the existence is reported
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local now_ms = math.floor(now / 1000)
local key, timeout, first, ttl = KEYS[1], KEYS[3], ARGV[1], tonumber(ARGV[2])
local mode, kind, units, limit = string.match(ARGV[4], '^(%a) (%a) (%d+)/?(%d*)$')
local until_us, token = tonumber(ARGV[3]), math.max(now, ARGV[5] + 1)
local for_ever_ms, taken_ms = 2073600000, 3600000
units = tonumber(units)
--@may_return ask_stands
--@include permit_ids
--@include say
--@include permits_free
if kind == 'u' then
  local mine = redis.call('GET', KEYS[4])
  if mine then
    return { 2, now, for_ever_ms, for_ever_ms, token, 0, tonumber(mine) }
  end
else
  local deadline = tonumber(redis.call('ZSCORE', timeout, first) or 0)
  if deadline > now_ms then
    while units == 0 or redis.call('ZSCORE', timeout, permit_ids(first, units, 1)[1]) do
      units = units + 1
    end
    local left = deadline - now_ms
    return { 2, now, left, math.max(left, ttl), token, 0, units }
  end
end

local is_absent = not redis.call('GET', key)
if is_absent and limit == '' then
  return { 9, now }
end
if kind == 'p' then
  permits_reclaim(not is_absent and key, timeout, now_ms, ARGV[6], ARGV[7])
end
local held = kind == 'p' and limit ~= '' and redis.call('ZCARD', timeout) or 0
if is_absent then
  permits_change(key, limit - held, limit, ARGV[6], ARGV[7])
end
local free = tonumber(redis.call('GET', key))
if not free then
  return redis.error_reply('WRONGTYPE this name is not of a semaphore')
end
if kind == 'p' and limit ~= '' and free + held > 0 and free + held ~= limit + 0 then
  return { 10, now, free + held }
end
local wanted = units > 0 and units or math.min(math.max(free, 1), permits_most)
if free < wanted then
  local left, lease = 0, ''
  if kind == 'p' then
    held = redis.call('ZCARD', timeout)
    if free + held > 0 and units > free + held then
      return { 8, now, math.max(free + held, 0) }
    end
  end
  if held > 0 then
    --@include foreign
    left = redis.call('ZRANGE', timeout, 0, 0, 'WITHSCORES')[2] - now_ms
    left, lease = math.min(left, day_ms), foreign
  end
  return { mode == 't' and 4 or 3, now, left, left, lease, 0, 0, 0 }
end

-- Takes nothing: what a user may not do, or a full server refuses, is refused here. Permits are
-- counted when they are noted, so that an error between loses none.
redis.call('DECRBY', key, 0)
if kind == 'u' then
  redis.call('SET', KEYS[4], wanted, 'PX', taken_ms)
  redis.call('DECRBY', key, wanted)
  return { 1, now, for_ever_ms, for_ever_ms, token, wanted }
end
local deadline, left = string.format('%.0f', now_ms + ttl), redis.call('PTTL', key)
local added = 0           -- of an ask that comes again some may be there
for from = 0, wanted - 1, permits_step do
  local pairs_of = {}
  for i, id in ipairs(permit_ids(first, from, math.min(permits_step, wanted - from))) do
    pairs_of[2 * i - 1], pairs_of[2 * i] = deadline, id
  end
  added = added + redis.call('ZADD', timeout, unpack(pairs_of))
end
redis.call('DECRBY', key, added)
if left > 0 then
  redis.call('PEXPIRE', timeout, left)
end
return { 1, now, ttl, ttl, token, wanted }
