-- SPDX-License-Identifier: MIT
-- What there is of each member of a set, read only: `members`, and `busy`, the first that
-- somebody else has or is to have; or no members, and the `answer`.
-- Of a member: is_mine, this ask has it; is_stale, an earlier ask of this set has it, which
-- is over by this one; is_free, nobody's, or over, or stale; next, the place in the queue of
-- who is to have it, if anybody is.
local function next_in(queue)
  for index = queue.head, math.min(queue.next - 1, queue.head + 999) do
    local text = redis.call('HGET', key, 'w' .. index)
    local entry = text and read_entry(text)
    if entry and entry.is_waiter and entry.client == me.client then
      if waits then
        return index
      end
    elseif entry and is_live(entry) then
      return index
    end
  end
  -- Dead ones without end: somebody, as far as we can see.
  return queue.next - queue.head > 1000 and queue.head + 1000 or nil
end
-- A set's leases are renewed together, so what was watched of one member counts for all.
local function is_over(lease)
  return watched == lease.id and watched_renewals == lease.renewals or
    now > lease.deadline + 1000000 and lease.flags < 2 and flags < 2
end
local function is_ended(member)
  local lease, entry = member.lease, member.entry
  if lease.client == me.client and (lease.ask > ask or lease.ask == ask and not lease.is_held) then
    return true
  end
  return entry and (entry.ask + 0 > ask or entry.ask + 0 == ask and not entry.is_waiter)
end
local function look(place)
  local lease, queue = load(key, me.client)
  if not lease then
    return nil, foreign
  end
  local member = { key = key, name = ARGV[7 + place], lease = lease, queue = queue }
  if queue and queue.mine then
    member.entry = read_entry(redis.call('HGET', key, 'w' .. queue.mine) or '')
  end
  if is_ended(member) then
    return nil, { 5, now }
  end
  if lease.token > token_max or floor > token_max then
    return nil, redis.error_reply('ERR the token of this lock cannot grow any more')
  end
  local is_own = lease.is_held and lease.client == me.client
  member.is_mine = is_own and lease.ask == ask
  member.is_stale = is_own and not member.is_mine
  member.is_free = not lease.is_held or member.is_stale or not is_own and is_over(lease)
  member.is_quiet = member.is_free and quarantine ~= nil
  member.is_free = member.is_free and not member.is_quiet
  member.next = member.is_free and queue and next_in(queue) or nil
  return member
end
local members, busy, answer = {}, nil, nil
for place = 1, #ARGV - 7 do
  key = KEYS[place]
  members[place], answer = look(place)
  local member = members[place]
  if not member then
    members = nil
    break
  end
  local is_anothers = member.next and member.next ~= member.queue.mine
  if not busy and not member.is_mine and (not member.is_free or is_anothers) then
    busy = place
  end
end
