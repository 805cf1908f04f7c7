-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Ends the lease of a set and grants each member to its next waiter. S3 S8 L2 L10.
-- KEYS the locks, and with an era guard the era
-- ARGV 1 lease id  2 prefix  3 expected TIME (0: in doubt)
--      4 ... the names, in the order of the keys
-- answers the worst result of release for each: 1 done   2 gone   {3, another lease}. A key of
--         another form does not have the lease.
-- A limit other than 0 is that of a token: the client that was granted the set is notified,
-- because it may still believe in it.
local is_by_token = ARGV[#ARGV] ~= '0'
--@may_return late
-- Uncontended: each member has this lease, and no queue.
local count = #ARGV - 3
local values = is_by_token and {} or redis.call('MGET', unpack(KEYS, 1, count))
local is_plain = true
for i = 1, count do
  is_plain = is_plain and values[i] and values[i]:find(ARGV[1], 1, true) == 1 and
    values[i]:find('^ %-?%d+ %d+ %d+ %d$', #ARGV[1] + 1)
end
if is_plain then
  local memory = ARGV[1]
  for i = 1, count do
    local key = KEYS[i]
    --@include keep_last
  end
  return 1
end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local doubt = math.abs(now - ARGV[3]) > 250000 and 2 or 0
local prefix = ARGV[2]
local key, name
--@include load
--@include new_lease
--@include end_lease
--@include is_last
local worst, taker, ended = 1, nil, nil
for i = 1, count do
  key, name = KEYS[i], ARGV[3 + i]
  local lease, queue = load(key, '')
  if not lease or lease.id ~= ARGV[1] and not lease.is_held then
    worst = lease and is_last(lease, ARGV[1]) and worst or 2
  elseif lease.id ~= ARGV[1] then
    taker = taker or lease.id
  elseif lease.is_held then
    end_lease(queue, lease.token, lease.id)
    ended = i
  end
end
if ended and is_by_token then
  key, name = KEYS[ended], ARGV[3 + ended]
  --@include tell_released
  tell_released(string.match(ARGV[1], '^([^:]+):'), ARGV[1])
end
return taker and { 3, taker } or worst
