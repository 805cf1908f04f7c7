-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Ends an ask in any state: granted, queued, or being sent. S8 S10.
-- KEYS, ARGV as release.lua    answers 1 a lease was released, else 0
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local key, owner, queue, deadlines = KEYS[1], ARGV[1], KEYS[3], KEYS[4]
--@include say
--@include wake
--@include fair_leave
local was_held = redis.call('HEXISTS', key, owner)
if was_held == 1 then
  redis.call('DEL', key)
end
if tonumber(ARGV[2]) > 0 then
  redis.pcall('SET', KEYS[2], '1', 'PX', ARGV[2])
end
local was_queued = fair_leave(queue, deadlines, owner, now)
if was_held == 1 or (was_queued and redis.call('EXISTS', key) == 0) then
  wake(ARGV[3], ARGV[4], queue, deadlines, now)
end
return was_held
