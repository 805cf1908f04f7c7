-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Extends leases; never shortens, never creates: compare and PEXPIRE. S3 S9.
-- KEYS the locks    ARGV for each: owner, ttl ms
-- answers as redisson/renew.lua
-- Of a token: the last argument is its limit.
if #ARGV % 2 == 1 then
  --@may_return late
end
local time = redis.call('TIME')
local answer = { time[1] * 1000000 + time[2] }
for i, key in ipairs(KEYS) do
  local owner, ttl, left = ARGV[2 * i - 1], tonumber(ARGV[2 * i]), 0
  local value = redis.pcall('GET', key)
  local is_held = value == owner
  if is_held then
    left = redis.call('PTTL', key)
    if left < ttl then
      redis.call('PEXPIRE', key, ttl)
      left = ttl
    end
  else
    left = type(value) == 'string' and 3 or 2
  end
  answer[2 * i] = is_held and 1 or -1
  answer[2 * i + 1] = left
end
return answer
