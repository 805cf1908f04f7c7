-- SPDX-License-Identifier: MIT
-- Asks for the lease. Properties S1 S2 S8 S10 L1 L2 L3 L12; doc/design/protocol.md 4.
-- KEYS 1 the lock  2 with an era guard: the era
-- ARGV 1 `=C:K:`
--      2 `<after> <until, 0: none> <floor> <expected TIME, 0: in doubt> <mode w<nonce>|t|p>
--        <give up> <watched lease|-> <its renewals> <prefix> <name>`
--        p waits without an inbox: it polls; w: the message of a grant contains the nonce
--      3 <before>  4 ` <ttl ms> <ttl ms> 0 <1 if the caller parks leases>`
--      5 mostly absent: a detached lease of the caller, which is treated as another client's
-- answers T, granted now, if T is the server's time, as in most cases; else
--         {1 granted, now, remaining, T}
--         {2 again, now, remaining, length, T, renewals}
--         {3 waiting, now, remaining, length, lease, renewals, rank}
--         {4 busy, now, remaining, length, lease, renewals, lingers}
--         {5 ended, now}  {6 not listening, now}  {7 late, now}
-- Server times in us, spans in ms.
-- The uncontended path must be fast, and reading a number costs as much as ten comparisons: so
-- the caller sends, in 16 digits, the times after <after> and not after <before> at which its
-- request is not late, its clock not in doubt, TIME above its floor and the ttl at most 900 s.
-- Digits have the same order in every locale. What is sent is ready to be stored.
local redis, ARGV = redis, ARGV
local time, key, own = redis.call('TIME'), KEYS[1], ARGV[1]
local digits = time[1] .. time[2]
if #time[2] < 6 then
  digits = time[1] .. string.sub('00000', #time[2]) .. time[2]
end
local value = redis.call('MGET', key)[1]
local is_plain = ARGV[2] < digits and digits < ARGV[3]
if is_plain and KEYS[2] then
  local now = time[1] * 1000000 + time[2]
  --@include era_is_over
  is_plain = is_over
end
-- Free: `=C:K:T`, here with as many digits as T has since 2001, and as the caller's K has. If C
-- is the caller, it is less than `=C:K:` exactly if its K is.
if value and is_plain and #value == #own + 16 and value < own and value:byte() == 61 and
  value:sub(-16) < digits then
  redis.call('SET', key, own:sub(2) .. digits .. ARGV[4], 'PX', '3600000')
  return digits
end

local client, number = own:match('^=([^:]+):(%d+):$')
local now = time[1] * 1000000 + time[2]
local fields = not value and redis.pcall('HMGET', key, 's', 'h', 'n',
  'c' .. client)
local stored = value
if fields and is_plain and not fields.err then
  -- Absent: granted by the command that shows that it is.
  if not fields[1] and
    redis.call('SET', key, own:sub(2) .. digits .. ARGV[4], 'PX', '3600000', 'NX') then
    return digits
  end
  stored = not fields[4] and fields[1]
end
if stored and is_plain then
  --@may_return wait_behind
end
local until_us, floor_text, expected, wish = ARGV[2]:match('^%d+ (%d+) (%d+) (%d+) (.*)$')
local ttl_text, lingers = ARGV[4]:match('^ (%d+) %d+ 0 (%d)$')
local ttl, floor, last = ttl_text + 0, floor_text + 0, 0
if until_us + 0 > 0 and now > until_us + 0 then
  return { 7, now }
end
-- A deadline that is written or read by a client with a doubtful clock decides nothing.
local flags, apart = lingers + 0, now - expected
if apart > 250000 or apart < -250000 then
  flags = flags + 2
end
local last_client, last_ask, last_token
if value then
  last_client, last_ask, last_token = value:match('^=([^:= ]+):(%d+):(%d+)$')
end
local quarantine
if KEYS[2] and not is_plain then        -- else era_is_over.lua has looked
  --@include era
  local watched, place = wish:match('^%S+ %d+ (%S+) %d+ (%S+) ')
  quarantine = held_back(place, watched)
end
if last_token and not quarantine then
  if last_client == client and last_ask + 0 >= number + 0 then
    return { 5, now }
  end
  last = last_token + 0
elseif value or quarantine or redis.call('EXISTS', key) == 1 then
  --@may_return contend
end

-- No holder and no live waiter: the string form suffices. As in new_lease.lua, but without
-- formatting while the digits of TIME are the token.
local token, owned = now
if now > last and now > floor then
  owned = own:sub(2) .. digits .. ' ' .. ttl_text .. ' ' .. ttl_text .. ' 0 ' .. flags
else
  --@include token_above
  token = token_above(last, floor)
  owned = own:sub(2) .. string.format('%.0f %.0f %.0f 0 ', token,
    math.ceil((now - token) / 1000) + ttl, ttl) .. flags
end
-- Each grant sets the retention again: an older key must not expire under the lease.
if ttl <= 900000 then
  redis.call('SET', key, owned, 'PX', '3600000')
else
  redis.call('SET', key, owned, 'PX', 4 * ttl)
end
if token == now then
  return token
end
return { 1, now, ttl, token }
