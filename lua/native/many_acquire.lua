-- SPDX-License-Identifier: MIT
-- Asks for several leases: all or none. S1 S2 S8 L12; doc/design/protocol.md 10.
-- KEYS the locks, in the common order of all sets; with an era guard the era as the last
-- ARGV 1 C.n  2 K  3 ttl ms  4 until (0: none)  5 floor  6 expected TIME (0: in doubt)
--      7 `<mode w<nonce>|t|p> <keeps 0|1> <give up> <watched lease|-> <its renewals> <prefix>`
--      8 ... the names, in the order of the keys
-- answers {1 granted, now, remaining, T}
--         {2 again, now, remaining, length, T, renewals}
--         {3 waiting, now, remaining, length, lease, renewals, rank, busy}
--         {4 busy, now, remaining, length, lease, renewals, lingers, busy}
--         {5 ended, now}  {6 not listening, now}  {7 late, now}
-- Busy: index among the keys, from 0; lease and rank are of that lock.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local ask, ttl, until_us, floor = ARGV[2] + 0, ARGV[3] + 0, ARGV[4] + 0, ARGV[5] + 0
if until_us > 0 and now > until_us then
  return { 7, now }
end
local flags = math.abs(now - ARGV[6]) > 250000 and 2 or 0
if flags == 0 and ttl <= 900000 and #KEYS == #ARGV - 7 then
  --@may_return many_free
end
local doubt = flags
local mode, nonce, keeps, give_up, watched, watched_renewals, prefix = string.match(ARGV[7],
  '^(%a)(%d*) (%d) (%d+) (%S+) (%d+) (%S+)$')
local waits, polls = mode ~= 't', mode == 'p'
local key, name
--@include load
--@include new_lease
--@include end_lease
--@include longer_lease
local me = { client = ARGV[1], ask = ARGV[2], ttl = ARGV[3], flags = flags, floor = floor }
local owner = me.client .. ':' .. me.ask
local quarantine = held_back(prefix, watched)
--@include many_look
--@include many_take
if not members then
  return answer
end
-- Members kept from several grants would become one lease: they need a new one.
for _, member in ipairs(members) do
  if quarantine and not busy and member.lease.id ~= members[1].lease.id then
    busy, members[1].is_quiet = 1, true
  end
end
if not busy then
  --@tail many_grant
end

-- Another client has one. A full server refuses the first write: it is one that changes
-- nothing.
local other = members[busy]
local has_written = false
local function begin_writing()
  if has_written then
    return
  end
  has_written = true
  local value = lease_value(other.lease)
  if other.queue then
    redis.call('HSET', other.key, 's', value)
  elseif other.lease.id ~= '' then
    redis.call('SET', other.key, value, 'KEEPTTL')
  else
    -- Not known here: in quarantine it is not free.
    redis.call('SET', other.key, value, 'PX', retention(0))
  end
end
key = other.key
local is_deaf = waits and not polls and not listens(me.client)
local was_granted = false
for i, member in ipairs(members) do
  --@include many_let_go
end
if is_deaf then
  return { 6, now }
end

key, name = other.key, other.name
local lease, queue, mine = other.lease, other.queue, other.entry
local is_quiet = other.is_quiet
local shown = is_quiet and quarantine or lease
local remaining = math.min(math.floor((shown.deadline - now) / 1000), shown.length)
local function tell_owner()
  tell(lease.client, 'want ' .. lease.id .. ' ' .. name)
end
if not waits then
  if not was_granted and shown.flags % 2 == 1 then
    tell_owner()
  end
  return { 4, now, remaining, shown.length, shown.id, tonumber(shown.renewals),
    shown.flags % 2, busy - 1 }
end
--@may_return enqueue
if not was_granted then
  --@include trim
  if queue.mine == queue.head and not is_quiet then
    tell_owner()
  end
end
return { 3, now, remaining, shown.length, shown.id, tonumber(shown.renewals),
  queue.mine - queue.head, busy - 1 }
