-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Gives the lease a higher token; owner, end and queue stay. doc/design/protocol.md 18.
-- KEYS the lock, or all members of a set    ARGV 1 lease id  2 the new token
-- answers 1 it has this token, now or since before   0 not the lease, or it has a higher one; of a
--         set the worst, and nothing is changed then
--@include load
--@include raise_ttl
local token = ARGV[2] + 0
local raised = string.match(ARGV[1], '^(.+:)%d+$') .. string.format('%.0f', token)
local leases, queues = {}, {}
for i, key in ipairs(KEYS) do
  local lease, queue = load(key, '')
  if not lease then
    return foreign
  end
  if not lease.is_held or lease.id ~= ARGV[1] or token < lease.token or
    token > 4503599627370495 then
    if not lease.is_held or lease.id ~= raised then
      return 0
    end
  else
    leases[i], queues[i] = lease, queue
  end
end
for i, key in ipairs(KEYS) do
  local lease = leases[i]
  if lease then
    local value = string.format('%s %.0f %.0f %s %d', raised,
      math.ceil((lease.deadline - token) / 1000), lease.length, lease.renewals, lease.flags)
    -- First a write that allocates nothing, so that a full server accepts the others.
    redis.call('PEXPIRE', key, math.max(retention(lease.length), redis.call('PTTL', key)))
    if queues[i] then
      redis.call('HSET', key, 's', value)
    else
      redis.call('SET', key, value, 'KEEPTTL')
    end
  end
end
return 1
