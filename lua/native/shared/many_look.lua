-- SPDX-License-Identifier: MIT
-- Reads the members of a set: `members`, and `busy`, the first that another client has or is
-- to have; or no members, and the `answer`. Of a member: is_mine, this ask has it; is_stale,
-- an earlier ask of this set has it, which this one ends; is_free, no holder, or overdue, or
-- stale; next, the queue index of the next owner, if any.
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
  -- Too many dead entries: assume a live one.
  return queue.next - queue.head > 1000 and queue.head + 1000 or nil
end
--@include is_past
-- A set's leases are renewed together, so watching one member is enough for all.
local function is_over(lease)
  return watched == lease.id and watched_renewals == lease.renewals or
    flags < 2 and is_past(lease)
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
