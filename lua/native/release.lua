-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Ends the lease and hands it to the next waiter. S3 S8 L2 L10; doc/design/protocol.md 4.
-- KEYS 1 the lock, 2 with an era guard the era
-- ARGV 1 lease string  2 `<prefix> <name>`  3 what TIME should say (0: in doubt)
-- answers 1 done (also when it was done before)   2 expired   {3, the lease that took it}
local value = redis.call('MGET', KEYS[1])[1]
if value and string.find(value, ARGV[1] .. ' ', 1, true) == 1 then
  if not redis.pcall('SET', KEYS[1], '=' .. ARGV[1], 'KEEPTTL').ok then
    redis.call('PEXPIRE', KEYS[1], 3600000)
    redis.call('SET', KEYS[1], '=' .. ARGV[1], 'KEEPTTL')
  end
  return 1
end
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
  return foreign
end
if lease.id ~= ARGV[1] then
  if lease.is_held then
    return { 3, lease.id }
  end
  return 2
end
if lease.is_held then
  end_lease(queue, lease.token, lease.id)
end
return 1
