-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Releases a share, and grants to the next waiters. S3 S8 L2 L10; doc/design/protocol.md 9.
-- KEYS 1 the resource  2 with an era guard: the era
-- ARGV 1 C:K  2 T  3 `<prefix> <name>`  4 expected TIME (0: in doubt)
--      5 until: leave a tombstone for copies of the ask (0: none exist)
-- answers 1 done   2 not there
-- Of a token: the last argument is its limit, and the client that was granted the share is
-- notified: it may still believe in it.
local is_by_token = ARGV[6]
if is_by_token then
  --@may_return late
end
local value, head, tail, mine = unpack(redis.pcall('HMGET', KEYS[1], 's', 'h', 'n',
  'k' .. ARGV[1]))
local kind, last, used, bounds, rest
if value and mine and ARGV[5] == '0' and not is_by_token then
  kind, last, used, bounds, rest = string.match(value, '^(%l+) (%d+) (%d+) (%d+ %d+ %S+) (.+)$')
end
if kind and head == tail then
  local mode, units, token = string.match(mine, '^(%l) (%d+) (%d+) ')
  if token ~= ARGV[2] then
    return 2
  end
  used = used - units
  local state = kind .. ' ' .. last .. ' ' .. used .. ' ' ..
    (used == 0 and '0 0 -' or bounds) .. ' ' .. (mode == 'w' and '0' or rest)
  if type(redis.pcall('HSET', KEYS[1], 's', state)) == 'table' then
    -- A full server accepts it after a command that needs no memory; or the user has no right.
    redis.call('HDEL', KEYS[1], '')
    redis.call('HSET', KEYS[1], 's', state)
  end
  local done = redis.pcall('HDEL', KEYS[1], 'k' .. ARGV[1])
  if type(done) == 'table' then                    -- the user has no right to it
    redis.call('HSET', KEYS[1], 's', value)
    return done
  end
  return 1
end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local doubt = math.abs(now - ARGV[4]) > 250000 and 2 or 0
local key = KEYS[1]
local prefix, name = string.match(ARGV[3], '^(%S+) (.*)$')
local id, until_us = ARGV[1], ARGV[5] + 0
--@include era_is_over
if kind and doubt == 0 and is_over then
  --@may_return share_hand_over
end
--@include share_load
local share, place
share, mine, place = share_load(KEYS[1], 'k' .. ARGV[1], 'c' .. ARGV[1])
if share.kind == 'lock' or share.kind == 'other' then
  return share_refuse(share)
end
local quarantine
if not is_over then
  --@include era
  quarantine = held_back(prefix)
end
--@include share_leave
local holder = mine and share_holder(id, mine)
if holder and holder.lease ~= id .. ':' .. ARGV[2] then
  return 2
end
share_leave(share, holder, place, until_us > 0)
if holder and is_by_token then
  --@include tell_released
  tell_released(string.match(id, '^(.+):'), holder.lease)
end
return holder and 1 or 2
