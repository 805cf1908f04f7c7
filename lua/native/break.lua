-- SPDX-License-Identifier: MIT
--@function allow-oom
-- An administrator ends the lease he has seen, and its owner is told. The memory it leaves
-- carries another token, so that the owner's own release learns that it came too late.
-- Of a shared resource one share is ended, and who fits now comes in.
-- KEYS 1 the lock, 2 with an era guard the era    ARGV and answers as release
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local doubt = math.abs(now - ARGV[3]) > 250000 and 2 or 0
local key = KEYS[1]
local prefix, name = string.match(ARGV[2], '^(%S+) (.*)$')
--@include load
--@include new_lease
--@include end_lease
local lease, queue = load(key, '')
if not lease then
  --@include break_share
end
if not lease.is_held then
  return 2
end
if lease.id ~= ARGV[1] then
  return { 3, lease.id }
end
end_lease(queue, lease.token, string.format('%s:%.0f:%.0f', lease.client, lease.ask,
  lease.token + 1))
tell(lease.client, 'lost ' .. lease.id .. ' ' .. name)
return 1
