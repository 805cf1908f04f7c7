-- SPDX-License-Identifier: MIT
-- The part of share_acquire for a resource that others have or want, or may have lost.
--@include share_over
--@include share_pump
local waits, give_up, watched, watched_renewals
waits, give_up, watched, watched_renewals, prefix, name = string.match(ARGV[8],
  '^(%a) (%d+) (%S+) (%d+) (%S+) (.*)$')
waits = waits == 'w'
local entry
if place then
  entry = share_entry(redis.call('HGET', share.key, 'w' .. place))
  if entry and not entry.is_waiter then
    return { 5, now }
  end
end
-- More than there are: refused, and its own place in the queue goes.
local is_too_many = share.kind == 'sem' and units > share.limit
if is_too_many and not entry then
  return { 8, now, share.limit }
end

local watched_id = string.match(watched, '^(.+):%d+$')
if watched_id then
  local holder = share_holder(watched_id, redis.call('HGET', share.key, 'k' .. watched_id))
  if holder and holder.lease == watched and holder.renewals == watched_renewals then
    share_remove(share, holder)
  end
end
share_drop_over(share)

local me = { id = id, client = ARGV[1], mode = mode, units = units, ttl = ttl, floor = floor }
if is_too_many then
  redis.call('HDEL', share.key, 'w' .. place, 'c' .. id)
end
local token = share_pump(share, not is_too_many and me or nil)
free = units > 0 and units or share.limit - share.used
if not token and not is_too_many and share.head == share.next and free > 0 and
  share_fits(share, mode, free) and share_token(share, floor) <= share_token_max then
  token = share_token(share, floor)
  share_grant(share, id, mode, free, ttl, token)
end
if token or is_too_many then
  share_save(share)
  return token and { 1, now, ttl, ttl, token, free } or { 8, now, share.limit }
end

if waits and not share_listens(me.client) then
  share_save(share)
  return { 6, now }
end
if waits then
  local text = table.concat({ me.client, ARGV[2], ARGV[3], mode .. '0', units, give_up,
    entry and entry.queued or string.format('%.0f', now), ARGV[5] }, ' ')
  if not entry then
    place, share.next = share.next, share.next + 1
    share_put(share, 'c' .. id, place)
    share_put(share, 'h', share.head)
    share_put(share, 'n', share.next)
  end
  if not entry or text ~= entry.text then
    share_put(share, 'w' .. place, text)
  end
  share.length = math.max(share.length, ttl)
end
share_save(share)
local holder = share_first(share)
return { waits and 3 or 4, now, holder and share_remaining(holder) or 0,
  holder and holder.length or 0, holder and holder.lease or '',
  holder and holder.renewals + 0 or 0, waits and place - share.head or 0 }
