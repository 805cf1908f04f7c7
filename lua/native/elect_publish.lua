-- SPDX-License-Identifier: MIT
-- The leader publishes its value while it has the lease. A lease may have several leaders in
-- turn, by local handoff: the fence distinguishes them. Of one leader the highest
-- publication number counts, so late copies have no effect. doc/design/protocol.md 12.
-- KEYS 1 the lock  2 the election
-- ARGV 1 lease id  2 fence  3 publication number  4 ms to remember it
--      5 channel  6 value
-- answers 1 published, now or before   0 another leader, or none
--@may_return late
--@include load
--@include fence_order
--@include tell_channel
local lease = load(KEYS[1], '')
if not lease then
  return foreign
end
if not lease.is_held or lease.id ~= ARGV[1] then
  return 0
end
local last = redis.call('HMGET', KEYS[2], 'f', 'n', 'v')
if last[1] and is_below(ARGV[2], last[1]) then
  return 0
end
if last[1] == ARGV[2] then
  if last[2] == '-' then
    return 0
  end
  if tonumber(last[2]) > tonumber(ARGV[3]) then
    return 1
  end
end
local is_new = last[1] ~= ARGV[2] or last[3] ~= ARGV[6]
redis.call('HSET', KEYS[2], 'f', ARGV[2], 'l', ARGV[1], 'n', ARGV[3], 'v', ARGV[6])
redis.call('PEXPIRE', KEYS[2], ARGV[4])
if is_new then
  tell_channel(ARGV[5], 'look')
end
return 1
