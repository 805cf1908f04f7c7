-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Ends the lease of this owner. S3 L2; doc/design/redisson.md 2. A request of it that was
-- being sent when its grant came may have found the lease over and queued: the owner leaves
-- the queue.
-- KEYS 1 the lock  2 the end of its ask  3 fair: the queue  4 its deadlines
-- ARGV 1 owner  2 ms in which a copy of the ask may arrive (0: none)
--      3 PUBLISH or SPUBLISH  4 the channel
-- answers 1 done   {1, number of receivers}   2 gone   {3, another lease}
-- Of a token: the last argument is its limit, and the owner is notified, too.
local is_by_token = ARGV[5]
if is_by_token then
  --@may_return late
end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
--@include say
--@include wake
--@include say_owner
--@include fair_leave
--@include foreign
local was_held, heard = redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1, 0
if was_held then
  redis.call('DEL', KEYS[1])
end
if tonumber(ARGV[2]) > 0 then
  redis.pcall('SET', KEYS[2], '1', 'PX', ARGV[2])
end
local was_queued = fair_leave(KEYS[3], KEYS[4], ARGV[1], now)
if was_held or (was_queued and redis.call('EXISTS', KEYS[1]) == 0) then
  heard = wake(ARGV[3], ARGV[4], KEYS[3], KEYS[4], now)
end
if was_held and is_by_token then
  say_owner(ARGV[3], ARGV[4], ARGV[1])
end
if was_held then
  return heard > 0 and { 1, heard } or 1
end
if redis.call('EXISTS', KEYS[1]) == 0 then
  return 2
end
return { 3, foreign }
