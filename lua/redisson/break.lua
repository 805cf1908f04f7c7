-- SPDX-License-Identifier: MIT
--@function allow-oom
-- An administrator ends the lease of this owner, ours or foreign: of a lock as forceUnlock
-- does; of a shared one only this owner's part; of permits the one whose id stands for a
-- client.
-- KEYS 1 the lock or semaphore  2 fair: the queue  3 its deadlines
--      4 the end of this owner's reading  5 ids of permits, by their ends
-- ARGV 1 owner as reported by inspect.lua  2 PUBLISH or SPUBLISH  3 the channel of a lock
--      4 of a read/write lock  5 of a semaphore  6 id of a permit
-- answers as release.lua
--@may_return late
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local key = KEYS[1]
--@include say
--@include wake
--@include say_owner
--@include foreign
--@include rw_end
--@include permits_free
local kind = redis.call('TYPE', key).ok
if kind == 'string' then
  if redis.call('ZSCORE', KEYS[5], ARGV[6]) then
    permits_may_free(key)
  end
  local gone = redis.call('ZREM', KEYS[5], ARGV[6])
  permits_free(key, gone, ARGV[2], ARGV[5])
  return gone == 1 and 1 or 2
end
if redis.call('HEXISTS', key, 'mode') == 1 then
  return rw_end(key, ARGV[1], KEYS[4], ARGV[2], ARGV[4], true) and 1 or 2
end
if redis.call('HEXISTS', key, ARGV[1]) == 1 then
  redis.call('DEL', key)
  say_owner(ARGV[2], ARGV[3], ARGV[1])
  wake(ARGV[2], ARGV[3], KEYS[2], KEYS[3], now)
  return 1
end
if kind == 'none' then
  return 2
end
return { 3, foreign }
