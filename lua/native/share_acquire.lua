-- SPDX-License-Identifier: MIT
-- Asks for a share: to read, to write, or for permits. S1 S1' S8 S10 L1 L2 L3 L10 L12;
-- doc/design/protocol.md 9.
-- KEYS 1 the resource  2 with an era guard: the era
-- ARGV 1 C  2 K  3 ttl ms  4 until (0: none)  5 floor  6 expected TIME (0: in doubt)
--      7 `r`, `w` or `p<permits>/<limit>`; p0: all that are free; the limit, if there is one, is
--        set for a new semaphore, and compared with that of an older one
--      8 `<mode w<nonce>|t|p> <give up> <watched lease|-> <its renewals> <prefix> <name>`
-- answers {1 granted, now, remaining, length, T, units}
--         {2 again, now, remaining, length, T, renewals, units}
--         {3 waiting, now, remaining, length, lease, renewals, rank, last T}
--         {4 busy, now, remaining, length, lease, renewals, 0, last T}
--         {5 ended, now}  {6 not listening, now}  {7 late, now}  {8 too many, now, limit}
--         {9 not set, now}  {10 another limit, now, limit}
-- The lease of 3 and 4 is that of the holder that ends first, '' without holders.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local ttl, until_us, floor = ARGV[3] + 0, ARGV[4] + 0, ARGV[5] + 0
if until_us > 0 and now > until_us then
  return { 7, now }
end
local apart = now - ARGV[6]
local doubt = (apart > 250000 or apart < -250000) and 2 or 0
local id, mode, units, limit = ARGV[1] .. ':' .. ARGV[2], string.sub(ARGV[7], 1, 1), 1, ''
if mode == 'p' then
  units, limit = string.match(ARGV[7], '(%d+)/?(%d*)')
  units = units + 0
end

--@include era_is_over
local quarantine
if not is_over then
  --@include era
  local place, watched
  watched, place = string.match(ARGV[8], '^%S+ %d+ (%S+) %d+ (%S+) ')
  quarantine = held_back(place, watched)
end

-- No waiter, no overdue holder, and it fits; or it waits: handled as text, without creating
-- functions.
local value, head, tail, mine = unpack(redis.pcall('HMGET', KEYS[1], 's', 'h', 'n', 'k' .. id))
local digits = #time[2] == 6 and time[1] .. time[2] or string.format('%.0f', now)
local kind, last, used, earliest, ends, first, rest
if value and not mine and not quarantine and doubt == 0 then
  kind, last, used, earliest, ends, first, rest = string.match(value,
    '^(%l+) (%d+) (%d+) (%d+) (%d+) (%S+) (.+)$')
end
local fits = head == tail and (mode == 'r' and kind == 'rw' and rest == '0' or
  mode == 'w' and kind == 'rw' and used == '0' or
  mode == 'p' and kind == 'sem' and units > 0 and used + units <= string.match(rest, '%d+') + 0 and
  (limit == '' or limit == string.match(rest, '%d+')))
if fits and now > last + 0 and now > floor and
  (earliest == '0' or now <= earliest + 1000000) then
  local deadline = now + ttl * 1000
  if earliest == '0' or deadline < earliest + 0 then
    earliest = string.format('%.0f', deadline)
  end
  if used == '0' then
    ends, first = earliest, id
  elseif deadline < ends + 0 then
    ends, first = string.format('%.0f', deadline), id
  end
  -- As in share_grant.lua it comes first.
  --@include share_retention
  redis.call('HSET', KEYS[1], 's', kind .. ' ' .. digits .. ' ' .. used + units .. ' ' ..
    earliest .. ' ' .. ends .. ' ' .. first .. ' ' .. (mode == 'w' and '1' or rest),
    'k' .. id, mode .. ' ' .. units .. ' ' .. digits .. ' ' .. ARGV[3] .. ' ' .. ARGV[3] .. ' 0 0')
  return { 1, now, ttl, ttl, now, units }
end
if kind and #digits == 16 then
  --@may_return share_enqueue
end
--@tail share_contend
