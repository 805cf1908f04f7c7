-- SPDX-License-Identifier: MIT
-- The part of acquire for a name with a holder or waiters. Returns the reply; or continues
-- after this piece, with `last` set, if the caller may take the lease and no queue is left.
--@include load
--@include new_lease
--@include is_grant
local mode, nonce, give_up, watched, watched_renewals, prefix, name = string.match(wish,
  '^(%a)(%d*) (%d+) (%S+) (%d+) (%S+) (.*)$')
local waits, polls, ask = mode ~= 't', mode == 'p', tonumber(number)
local lease, queue = load(key, client)
if not lease then
  return foreign
end
local doubt = flags - flags % 2
--@include grant_next
local function remaining()
  return math.min(math.floor((lease.deadline - now) / 1000), lease.length)
end
local function tell_owner()
  tell(lease.client, 'want ' .. lease.id .. ' ' .. name)
end

-- This ask ends earlier asks of its client, and a later one ends it.
local is_free = not lease.is_held
if lease.client == client and not (lease.is_held and is_grant(lease, ARGV[5])) then
  if lease.is_held and lease.ask == ask then
    return { 2, now, remaining(), lease.length, lease.token, tonumber(lease.renewals) }
  end
  if lease.ask >= ask then
    return { 5, now }
  end
  is_free = true
end
local mine
if queue and queue.mine then
  mine = read_entry(redis.call('HGET', key, 'w' .. queue.mine) or '')
  if mine and (tonumber(mine.ask) > ask or tonumber(mine.ask) == ask and not mine.is_waiter) then
    return { 5, now }
  end
end

-- Over: by its deadline, if the caller does not doubt this server's clock; or because the
-- caller has watched this lease, without renewals, for its whole length on its own clock.
--@include is_past
if not is_free then
  is_free = watched == lease.id and watched_renewals == lease.renewals or
    flags < 2 and is_past(lease)
end
local me = { client = client, ask = number, ttl = ttl_text, flags = flags, floor = floor }

-- The present holder may be unknown to this server.
local is_quiet = is_free and quarantine
if is_quiet then
  is_free = false
end

-- A lease with a queue was handed over, or turned into a hash by a waiter that sent `want` then.
-- So its owner expects others until it renews: the next one at the head need not send one.
local is_expected = queue and not mine and lease.renewals == '0' and lease.flags % 2 == 0
local is_deaf = waits and not polls and (queue or not is_free) and not listens(me.client)
if waits and not is_deaf and (queue or not is_free) then
  --@may_return enqueue
elseif not waits and mine and mine.is_waiter and tonumber(mine.ask) < ask then
  redis.call('HDEL', key, 'w' .. queue.mine, 'c' .. me.client)
end

local was_granted = false
if is_quiet then
  lease = quarantine
end
if is_free and queue then
  local last_of_all = lease.token
  lease = grant_next(queue, lease.token, me)
  was_granted = lease ~= nil
  if was_granted and lease.client == me.client then
    return { 1, now, ttl, lease.token }
  end
  lease = lease or { token = last_of_all }
end
if is_free and not was_granted then
  last = lease.token
elseif is_deaf then
  return { 6, now }
elseif not waits then
  if not was_granted and lease.flags % 2 == 1 then
    tell_owner()
  end
  return { 4, now, remaining(), lease.length, lease.id, tonumber(lease.renewals),
    lease.flags % 2 }
else
  if not was_granted then
    --@include trim
    if queue.mine == queue.head and not is_quiet and not is_expected then
      tell_owner()
    end
  end
  return { 3, now, remaining(), lease.length, lease.id, tonumber(lease.renewals),
    queue.mine - queue.head }
end
