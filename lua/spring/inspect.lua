-- SPDX-License-Identifier: MIT
--@function no-writes
-- Returns the holder of a lock of Spring; the format has no waiters.
-- KEYS 1 the lock  2 the ask that has it    answers as redisson/inspect.lua
local time = redis.call('TIME')
--@include holder
local owner = holder(KEYS[1], KEYS[2])
local answer = { time[1] * 1000000 + time[2], 0, redis.call('PTTL', KEYS[1]), 0, 0, 0, 0, 0 }
if owner then
  answer[5], answer[6], answer[9], answer[10] = 1, 1, owner, '1'
end
return answer
