-- SPDX-License-Identifier: MIT
-- Sets the number of permits, or deletes the semaphore. A lower number ends no lease: the
-- number of free permits may be negative for a while. S1'; doc/design/redisson-shares.md 2
-- and 3.
-- KEYS 1 the semaphore  2 ids of permits, by their ends
-- ARGV 1 set, absent (unless there is a count) or delete  2 permits  3 PUBLISH or SPUBLISH
--      4 the channel
-- answers as native/share_set.lua
--@may_return late
local time = redis.call('TIME')
local now_ms = math.floor(time[1] * 1000 + time[2] / 1000)
local key, timeout, permits = KEYS[1], KEYS[2], tonumber(ARGV[2])
--@include say
--@include permits_free
local is_absent = not redis.call('GET', key)
permits_reclaim(not is_absent and key, timeout, now_ms, ARGV[3], ARGV[4])
local held = redis.call('ZCARD', timeout)
local limit = held + (tonumber(redis.call('GET', key) or 0) or 0)
if ARGV[1] == 'delete' then
  if held > 0 then
    return { 0, math.max(limit, 0) }
  end
  redis.call('DEL', key, timeout)
  return { 1, 0 }
end
if not is_absent and ARGV[1] == 'absent' then
  return { 0, math.max(limit, 0) }
end
if is_absent or limit ~= permits then
  permits_change(key, permits - limit, permits, ARGV[3], ARGV[4])
end
return { 1, permits }
