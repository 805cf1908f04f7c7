-- SPDX-License-Identifier: MIT
-- Asks for the lease. Properties S1 S2 S8 S10 L1 L2 L3 L12; doc/design/protocol.md 4.
-- KEYS 1 the lock  2 with an era guard: the era
-- ARGV 1 C  2 K  3 ttl ms  4 until (0: none)  5 floor  6 expected TIME (0: in doubt)
--      7 `<mode w<nonce>|t|p> <give up> <watched lease|-> <its renewals> <prefix> <name>`
--        p waits without an inbox: it polls; w: the message of a grant contains the nonce
--      8, 9 mostly absent: 1 if the caller parks leases; a detached lease of it, which is
--        treated as another client's
-- answers T, granted now, if T is the server's time, as in most cases; else
--         {1 granted, now, remaining, T}
--         {2 again, now, remaining, length, T, renewals}
--         {3 waiting, now, remaining, length, lease, renewals, rank}
--         {4 busy, now, remaining, length, lease, renewals, lingers}
--         {5 ended, now}  {6 not listening, now}  {7 late, now}
-- Server times in us, spans in ms. Sums instead of tonumber(), constants instead of
-- formatted numbers, locals instead of globals, value:match() instead of string.match(): the
-- uncontended path must be fast.
local redis, ARGV = redis, ARGV
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local ttl, until_us, floor, last = ARGV[3] + 0, ARGV[4] + 0, ARGV[5] + 0, 0
if until_us > 0 and now > until_us then
  return { 7, now }
end
-- A deadline that is written or read by a client with a doubtful clock decides nothing.
local flags, apart = ARGV[8] == '1' and 1 or 0, now - ARGV[6]
if apart > 250000 or apart < -250000 then
  flags = flags + 2
end
local key = KEYS[1]
local value = redis.call('MGET', key)[1]
local last_ask, last_token
if value then
  if value:find(ARGV[1], 2, true) == 2 and value:byte() == 61 then
    -- The caller's own: a comparison costs less than a pattern for its id.
    last_ask, last_token = value:match('^:(%d+):(%d+)$', #ARGV[1] + 2)
  end
  last_token = last_token or string.match(value, '^=[^:= ]+:%d+:(%d+)$')
end
local quarantine
if KEYS[2] then
  --@include era
  local place, watched
  watched, place = string.match(ARGV[7], '^%S+ %d+ (%S+) %d+ (%S+) ')
  quarantine = held_back(place, watched)
end
if last_token and not quarantine then
  if last_ask and last_ask + 0 >= ARGV[2] + 0 then
    return { 5, now }
  end
  last = last_token + 0
else
  local fields = not value and not KEYS[2] and redis.pcall('HMGET', key, 's', 'h', 'n',
    'c' .. ARGV[1])
  if fields and fields[1] and not fields[4] and not ARGV[9] then
    --@may_return wait_behind
  end
  if value or quarantine or redis.call('EXISTS', key) == 1 then
    --@may_return contend
  end
end

-- No holder and no live waiter: the string form suffices. As in new_lease.lua, but without
-- formatting while the digits of TIME are the token.
local token, owned = now
if now > last and now > floor and #time[2] == 6 then
  owned = ARGV[1] .. ':' .. ARGV[2] .. ':' .. time[1] .. time[2] .. ' ' .. ARGV[3] .. ' ' ..
    ARGV[3] .. (flags == 0 and ' 0 0' or ' 0 ' .. flags)
else
  --@include token_above
  token = token_above(last, floor)
  owned = ARGV[1] .. ':' .. ARGV[2] .. string.format(':%.0f %.0f %.0f 0 ', token,
    math.ceil((now - token) / 1000) + ttl, ttl) .. flags
end
-- Each grant sets the retention again: an older key must not expire under the lease.
if ttl <= 900000 then
  redis.call('SET', KEYS[1], owned, 'PX', '3600000')
else
  redis.call('SET', KEYS[1], owned, 'PX', 4 * ttl)
end
if token == now then
  return token
end
return { 1, now, ttl, token }
