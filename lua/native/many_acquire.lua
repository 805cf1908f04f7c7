-- SPDX-License-Identifier: MIT
-- Asks for several leases at once: all of them or none. S1 S2 S8 L12; doc/design/protocol.md 10.
-- KEYS the locks, in the order that all sets agree on
-- ARGV 1 C.n  2 K  3 ttl ms  4 until (0: none)  5 floor  6 what TIME should say (0: in doubt)
--      7 `<mode w|t> <keeps 0|1> <give up> <watched lease|-> <its renewals> <prefix>`
--      8 and on: the names, as the keys
-- answers {1 granted, now, remaining, T}
--         {2 again, now, remaining, length, T, renewals}
--         {3 waiting, now, remaining, length, lease, renewals, rank, which is busy}
--         {4 busy, now, remaining, length, lease, renewals, lingers, which is busy}
--         {5 ended, now}  {6 deaf, now}  {7 late, now}
-- Which: its place among the keys, from 0; lease and rank are of that lock.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local ask, ttl, until_us, floor = ARGV[2] + 0, ARGV[3] + 0, ARGV[4] + 0, ARGV[5] + 0
if until_us > 0 and now > until_us then
  return { 7, now }
end
local flags = math.abs(now - ARGV[6]) > 250000 and 2 or 0
local doubt = flags
local mode, keeps, give_up, watched, watched_renewals, prefix = string.match(ARGV[7],
  '^(%a) (%d) (%d+) (%S+) (%d+) (%S+)$')
local waits = mode == 'w'
local key, name
--@include load
--@include new_lease
--@include end_lease
--@include longer_lease
local me = { client = ARGV[1], ask = ARGV[2], ttl = ARGV[3], flags = flags, floor = floor }
local owner = me.client .. ':' .. me.ask
--@include many_look
--@include many_take
if not members then
  return answer
end
if not busy then
  --@include many_grant
end

-- Somebody has one. A full server refuses the first writing, before anything has changed:
-- so that is one which changes nothing.
local other = members[busy]
local has_written = false
local function begin_writing()
  if has_written then
    return
  end
  has_written = true
  local value = other.lease.value or '=' .. other.lease.id
  if other.queue then
    redis.call('HSET', other.key, 's', value)
  else
    redis.call('SET', other.key, value, 'KEEPTTL')
  end
end
local is_deaf = waits and redis.call('PUBSUB', 'NUMSUB', inbox_of(me.client))[2] == 0
local was_granted = false
for i, member in ipairs(members) do
  --@include many_let_go
end
if is_deaf then
  return { 6, now }
end

key, name = other.key, other.name
local lease, queue, mine = other.lease, other.queue, other.entry
local remaining = math.min(math.floor((lease.deadline - now) / 1000), lease.length)
local function tell_owner()
  redis.pcall('PUBLISH', inbox_of(lease.client), 'want ' .. lease.id .. ' ' .. name)
end
if not waits then
  if not was_granted and lease.flags % 2 == 1 then
    tell_owner()
  end
  return { 4, now, remaining, lease.length, lease.id, tonumber(lease.renewals),
    lease.flags % 2, busy - 1 }
end
--@include enqueue
if not was_granted then
  --@include trim
  if queue.mine == queue.head then
    tell_owner()
  end
end
return { 3, now, remaining, lease.length, lease.id, tonumber(lease.renewals),
  queue.mine - queue.head, busy - 1 }
