-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Extends leases; never shortens, never creates. S3 S9.
-- KEYS the locks    ARGV for each: owner, ttl ms
-- answers {now, then for each: waiters, remaining ms}. Waiters -1: the owner does not have it, and
--         the second number is 3 another owner has it, 2 free: the format does not store later
--         owners. Nor does it store waiters: their number is always 1
-- Of a token: the last argument is its limit.
if #ARGV % 2 == 1 then
  --@may_return late
end
local time = redis.call('TIME')
local answer = { time[1] * 1000000 + time[2] }
for i, key in ipairs(KEYS) do
  local owner, ttl, left = ARGV[2 * i - 1], tonumber(ARGV[2 * i]), 0
  local found = redis.pcall('HEXISTS', key, owner)
  if found == 1 then
    left = redis.call('PTTL', key)
    if left < ttl then
      redis.call('PEXPIRE', key, ttl)
      left = ttl
    end
  else
    left = found == 0 and redis.call('EXISTS', key) == 1 and 3 or 2
  end
  answer[2 * i] = found == 1 and 1 or -1
  answer[2 * i + 1] = left
end
return answer
