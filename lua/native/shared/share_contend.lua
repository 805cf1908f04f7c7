-- SPDX-License-Identifier: MIT
-- The part of share_acquire for a name with holders or waiters, perhaps lost ones, and for a
-- new name.
--@include share_load
local key, prefix, name = KEYS[1], nil, nil
local share, mine, place = share_load(KEYS[1], 'k' .. id, 'c' .. id)
if share.kind == 'none' or share.kind == 'new' then
  if mode ~= 'p' then
    share.kind = 'rw'
  elseif limit == '' then
    return { 9, now }
  else
    share.kind, share.limit, share.generation = 'sem', limit + 0, 1
  end
elseif share.kind ~= (mode == 'p' and 'sem' or 'rw') then
  return share_refuse(share)
end
--@include share_grant
--@include share_over
--@include share_pump
if mine then
  mine = share_holder(id, mine)
  return { 2, now, share_remaining(mine), mine.length, mine.token, mine.renewals + 0, mine.units }
end
local polls, waits, nonce, give_up, watched, watched_renewals
waits, nonce, give_up, watched, watched_renewals, prefix, name = string.match(ARGV[8],
  '^(%a)(%d*) (%d+) (%S+) (%d+) (%S+) (.*)$')
waits, polls = waits ~= 't', waits == 'p'
local entry
if place then
  entry = share_entry(redis.call('HGET', share.key, 'w' .. place))
  if entry and not entry.is_waiter then
    return { 5, now }
  end
end
-- Of a waiter it was compared before. A limit of 0 is a pause.
if limit ~= '' and not entry and share.limit > 0 and share.limit ~= limit + 0 then
  return { 10, now, share.limit }
end
-- More than the limit: refused, and its queue entry is removed.
local is_too_many = share.kind == 'sem' and share.limit > 0 and units > share.limit
if is_too_many and not entry then
  return { 8, now, share.limit }
end

share_drop_over(share)
local function fits_at_once()
  local free = units > 0 and units or share.limit - share.used
  return not quarantine and share.head == share.next and free > 0 and
    share_fits(share, mode, free) and free
end
local watched_id = not fits_at_once() and string.match(watched, '^(.+):%d+$')
if watched_id and not share.removed[watched_id] then
  local holder = share_holder(watched_id, redis.call('HGET', share.key, 'k' .. watched_id))
  if holder and holder.lease == watched and holder.renewals == watched_renewals then
    share_remove(share, holder)
  end
end

local me = { id = id, client = ARGV[1], mode = mode, units = units, ttl = ttl, floor = floor }
if is_too_many then
  redis.call('HDEL', share.key, 'w' .. place, 'c' .. id)
end
local token = not share_is_full(share) and share_pump(share, not is_too_many and me or nil)
local free = not token and not is_too_many and fits_at_once()
if free then
  token = token_above(share.token, floor)
  share_grant(share, id, mode, free, ttl, token)
end
if token or is_too_many then
  share_save(share)
  return token and { 1, now, ttl, ttl, token, free or units } or { 8, now, share.limit }
end

if waits and not polls and not listens(me.client) then
  share_save(share)
  return { 6, now }
end
if waits then
  local text = table.concat({ me.client, ARGV[2], ARGV[3], mode .. (polls and 4 or 0), units,
    give_up, (entry and entry.queued or string.format('%016.0f', now)) .. nonce, ARGV[5] }, ' ')
  if not entry then
    place, share.next = share.next, share.next + 1
    share_put(share, 'c' .. id, place)
    share_put(share, 'h', share.head)
    share_put(share, 'n', share.next)
  end
  if not entry or text ~= entry.text then
    share_put(share, 'w' .. place, text)
  end
  -- As in enqueue.lua: a wait does not keep holders that are over but in doubt.
  if share.used == 0 or now <= share.ends + 1000000 then
    share.length = math.max(share.length, ttl)
  end
end
share_save(share)
local holder = quarantine or share_first(share)
return { waits and 3 or 4, now, holder and share_remaining(holder) or 0,
  holder and holder.length or 0, holder and holder.lease or '',
  holder and holder.renewals + 0 or 0, waits and place - share.head or 0, share.token }
