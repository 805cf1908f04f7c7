-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Lengthens leases; never shortens, never creates: compare and PEXPIRE. S3 S9.
-- KEYS the locks    ARGV for each: owner, ttl ms
-- answers {now, then for each: waiters, remaining ms}, waiters -1 where the owner has it
--         no more. Who waits, the format does not tell: it counts as one, always
local time = redis.call('TIME')
local answer = { time[1] * 1000000 + time[2] }
for i, key in ipairs(KEYS) do
  local owner, ttl, left = ARGV[2 * i - 1], tonumber(ARGV[2 * i]), 0
  local is_held = redis.pcall('GET', key) == owner
  if is_held then
    left = redis.call('PTTL', key)
    if left < ttl then
      redis.call('PEXPIRE', key, ttl)
      left = ttl
    end
  end
  answer[2 * i] = is_held and 1 or -1
  answer[2 * i + 1] = left
end
return answer
