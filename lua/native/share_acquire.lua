-- SPDX-License-Identifier: MIT
-- Asks for a share: to read, to write, or for permits. S1 S1' S8 S10 L1 L2 L3 L10 L12;
-- doc/design/protocol.md 9.
-- KEYS 1 the resource
-- ARGV 1 C  2 K  3 ttl ms  4 until (0: none)  5 floor  6 what TIME should say (0: in doubt)
--      7 `r`, `w` or `p<permits>`, p0: all that are free
--      8 `<mode w|t> <give up> <watched lease|-> <its renewals> <prefix> <name>`
-- answers {1 granted, now, remaining, length, T, units}
--         {2 again, now, remaining, length, T, renewals, units}
--         {3 waiting, now, remaining, length, lease, renewals, rank}
--         {4 busy, now, remaining, length, lease, renewals, 0}
--         {5 ended, now}  {6 deaf, now}  {7 late, now}  {8 too many, now, limit}
--         {9 not set, now}
-- The lease of 3 and 4 is that of the holder that ends first, '' when nobody holds.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local ttl, until_us, floor = ARGV[3] + 0, ARGV[4] + 0, ARGV[5] + 0
if until_us > 0 and now > until_us then
  return { 7, now }
end
local doubt = math.abs(now - ARGV[6]) > 250000 and 2 or 0
local id, mode, units = ARGV[1] .. ':' .. ARGV[2], string.sub(ARGV[7], 1, 1), 1
if mode == 'p' then
  units = string.sub(ARGV[7], 2) + 0
end
local prefix, name
--@include share_load
local share, mine, place = share_load(KEYS[1], 'k' .. id, 'c' .. id)
if share.kind == 'none' or share.kind == 'new' then
  if mode == 'p' then
    return { 9, now }
  end
  share.kind = 'rw'
elseif share.kind ~= (mode == 'p' and 'sem' or 'rw') then
  return share_refuse(share)
end
if mine then
  --@include share_holder
  mine = share_holder(id, mine)
  return { 2, now, share_remaining(mine), mine.length, mine.token, mine.renewals + 0, mine.units }
end
--@include share_grant
if math.max(share.token, floor) >= share_token_max then
  return redis.error_reply('ERR the token of this lock cannot grow any more')
end
local wants_look = doubt == 0 and share.earliest > 0 and now > share.earliest + 1000000
local free = units > 0 and units or share.limit - share.used
if share.head == share.next and not wants_look and free > 0 and
  share_fits(share, mode, free) then
  share_grant(share, id, mode, free, ttl, share_token(share, floor))
  share_save(share)
  return { 1, now, ttl, ttl, share.token, free }
end
--@include share_contend
