-- SPDX-License-Identifier: MIT
-- Ends an ask, wherever it stands: no queue entry and no lease of this number or a lower one
-- is left, and a copy of the request that comes late finds that it is over. S8 S10.
-- KEYS 1 the lock    ARGV 1 C  2 K  3 until (0: none)  4 `<prefix> <name>`
--      5 what TIME should say (0: in doubt)  6 a lease in other hands, if any
-- answers 1 when a lease was given up, else 0
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local doubt = math.abs(now - ARGV[5]) > 250000 and 2 or 0
local ask, until_us = tonumber(ARGV[2]), tonumber(ARGV[3])
local key = KEYS[1]
local prefix, name = string.match(ARGV[4], '^(%S+) (.*)$')
--@include load
--@include new_lease
--@include end_lease
local lease, queue = load(key, ARGV[1])
if not lease then
  return foreign
end
local is_mine = lease.client == ARGV[1] and not (lease.is_held and lease.id == ARGV[6])
if is_mine and lease.ask > ask then
  return 0
end
if queue then
  --@include entomb
end
local memory = string.format('%s:%s:%.0f', ARGV[1], ARGV[2], lease.token)
if is_mine and lease.is_held then
  end_lease(queue, lease.token, memory)
  return 1
end
-- Free, and perhaps never heard of: the key itself is the tombstone.
if not lease.is_held and not queue then
  redis.pcall('SET', key, '=' .. memory, 'PX', 3600000)
end
return 0
