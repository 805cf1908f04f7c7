-- SPDX-License-Identifier: MIT
-- The part of acquire for a name that somebody has or wants. Returns the answer, or goes on
-- behind this piece, with `last` set, when the lease is the caller's for the taking and
-- no queue is left.
local key = KEYS[1]
--@include load
--@include new_lease
local mode, give_up, watched, watched_renewals, prefix, name = string.match(ARGV[7],
  '^(%a) (%d+) (%S+) (%d+) (%S+) (.*)$')
local waits, polls, ask = mode ~= 't', mode == 'p', tonumber(ARGV[2])
local lease, queue = load(key, ARGV[1])
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

-- Earlier asks of this client are disowned by this one, later ones disown it.
local is_free = not lease.is_held
if lease.client == ARGV[1] and not (lease.is_held and lease.id == ARGV[9]) then
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

if lease.token > token_max or floor > token_max then
  return redis.error_reply('ERR the token of this lock cannot grow any more')
end

-- Over: 1 s past its deadline, where neither its holder nor the caller doubts this server's
-- clock (each within 500 ms of a common time, so a step of it in between is less than 1 s); or
-- because the caller has watched this very lease, not renewed, for its whole length on a
-- clock of its own.
if not is_free then
  is_free = watched == lease.id and watched_renewals == lease.renewals or
    now > lease.deadline + 1000000 and lease.flags < 2 and flags < 2
end
local me = { client = ARGV[1], ask = ARGV[2], ttl = ARGV[3], flags = flags, floor = floor }

-- Whoever may have it by now is not known here.
local is_quiet = is_free and quarantine
if is_quiet then
  is_free = false
end

local is_deaf = waits and not polls and (queue or not is_free) and not listens(me.client)
if waits and not is_deaf and (queue or not is_free) then
  --@include enqueue
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
    if queue.mine == queue.head and not is_quiet then
      tell_owner()
    end
  end
  return { 3, now, remaining(), lease.length, lease.id, tonumber(lease.renewals),
    queue.mine - queue.head }
end
