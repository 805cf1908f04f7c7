-- SPDX-License-Identifier: MIT
--@function no-writes
-- Returns the holder of a lock that is a string; the format has no waiters.
-- KEYS 1 the lock    answers as redisson/inspect.lua
local time = redis.call('TIME')
local value = redis.call('GET', KEYS[1])
local answer = { time[1] * 1000000 + time[2], 0, redis.call('PTTL', KEYS[1]), 0, 0, 0, 0, 0 }
if value then
  --@include owner_of
  answer[5], answer[6], answer[9], answer[10] = 1, 1, owner_of(value), '1'
end
return answer
