-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Extends leases; never shortens, never creates: compare and PEXPIRE. S3 S9.
-- KEYS for each: the lock, the ask that has it    ARGV for each: owner, ttl ms
-- answers as redisson/renew.lua
-- Of a token: the last argument is its limit.
if #ARGV % 2 == 1 then
  --@may_return late
end
local time = redis.call('TIME')
local answer = { time[1] * 1000000 + time[2] }
--@include holds
for i = 2, #KEYS, 2 do
  local key, owner, ttl, left = KEYS[i - 1], ARGV[i - 1], tonumber(ARGV[i]), 0
  local is_held = holds(key, KEYS[i], owner)
  if is_held then
    left = redis.call('PTTL', key)
    if left < ttl then
      redis.call('PEXPIRE', key, ttl)
      redis.call('PEXPIRE', KEYS[i], ttl)
      left = ttl
    end
  else
    left = redis.call('EXISTS', key) == 1 and 3 or 2
  end
  answer[i] = is_held and 1 or -1
  answer[i + 1] = left
end
return answer
