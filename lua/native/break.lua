-- SPDX-License-Identifier: MIT
--@function allow-oom
-- An administrator ends a lease; its owner is notified. The stored last grant gets another
-- token, so the owner's own release reports that it came too late. Of a shared name one
-- share ends, and the next waiters are granted.
-- KEYS 1 the lock, 2 with an era guard the era    ARGV as release
-- answers 1 done   2 gone: free, and another client may have had the name since
--         {3, the present lease}   4 free, and no other client had it since: it was released, or
--         broken before
--@may_return late
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local doubt = math.abs(now - ARGV[3]) > 250000 and 2 or 0
local key = KEYS[1]
local prefix, name = string.match(ARGV[2], '^(%S+) (.*)$')
--@include load
--@include new_lease
--@include end_lease
--@include is_last
local lease, queue = load(key, '')
if not lease then
  --@tail break_share
end
if not lease.is_held then
  local owner, token = string.match(ARGV[1], '^(.+:)(%d+)$')
  local broken = owner .. string.format('%.0f', token + 1)
  return (lease.id == broken or is_last(lease, ARGV[1])) and 4 or 2
end
if lease.id ~= ARGV[1] then
  return { 3, lease.id }
end
end_lease(queue, lease.token, string.format('%s:%.0f:%.0f', lease.client, lease.ask,
  lease.token + 1))
tell(lease.client, 'lost ' .. lease.id .. ' ' .. name)
return 1
