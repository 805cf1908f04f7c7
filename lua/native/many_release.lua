-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Ends the lease of a set and hands each member to its next waiter. S3 S8 L2 L10.
-- KEYS the locks, and with an era guard the era
-- ARGV 1 lease string  2 prefix  3 what TIME should say (0: in doubt)
--      4 and on: the names, as the keys
-- answers the worst that release would of each: 1 done   2 expired   {3, the lease that took
-- it}. A key that has become something else has not the lease.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local doubt = math.abs(now - ARGV[3]) > 250000 and 2 or 0
local prefix = ARGV[2]
local key, name
--@include load
--@include new_lease
--@include end_lease
local worst, taker = 1, nil
for i = 1, #ARGV - 3 do
  key, name = KEYS[i], ARGV[3 + i]
  local lease, queue = load(key, '')
  if not lease or lease.id ~= ARGV[1] and not lease.is_held then
    worst = 2
  elseif lease.id ~= ARGV[1] then
    taker = taker or lease.id
  elseif lease.is_held then
    end_lease(queue, lease.token, lease.id)
  end
end
return taker and { 3, taker } or worst
