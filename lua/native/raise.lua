-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Gives the lease a higher token; owner, end and queue stay. doc/design/protocol.md 18.
-- KEYS 1 the lock    ARGV 1 lease id  2 the new token
-- answers 1 it has this token, now or since before   0 not the lease, or it has a higher one
--@include load
--@include raise_ttl
local key, token = KEYS[1], ARGV[2] + 0
local lease, queue = load(key, '')
if not lease then
  return foreign
end
local owner = string.match(ARGV[1], '^(.+:)%d+$')
local raised = owner .. string.format('%.0f', token)
if not lease.is_held or lease.id ~= ARGV[1] or token < lease.token or
  token > 4503599627370495 then
  return lease.is_held and lease.id == raised and 1 or 0
end
local value = string.format('%s %.0f %.0f %s %d', raised,
  math.ceil((lease.deadline - token) / 1000), lease.length, lease.renewals, lease.flags)
-- First a write that allocates nothing, so that a full server accepts the second.
redis.call('PEXPIRE', key, math.max(retention(lease.length), redis.call('PTTL', key)))
if queue then
  redis.call('HSET', key, 's', value)
else
  redis.call('SET', key, value, 'KEEPTTL')
end
return 1
