-- SPDX-License-Identifier: MIT
-- Gives a share back, and lets in whoever fits now. S3 S8 L2 L10; doc/design/protocol.md 9.
-- KEYS 1 the resource
-- ARGV 1 C:K  2 T  3 `<prefix> <name>`  4 what TIME should say (0: in doubt)
--      5 until: leave a tombstone for copies of the ask (0: there are none)
-- answers 1 done   2 not there
--@include share_load
local share, mine, place = share_load(KEYS[1], 'k' .. ARGV[1], 'c' .. ARGV[1])
if share.kind == 'lock' or share.kind == 'other' then
  return share_refuse(share)
end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local doubt = math.abs(now - ARGV[4]) > 250000 and 2 or 0
local prefix, name = string.match(ARGV[3], '^(%S+) (.*)$')
local id, until_us = ARGV[1], ARGV[5] + 0
--@include share_leave
local holder = mine and share_holder(id, mine)
if holder and holder.lease ~= id .. ':' .. ARGV[2] then
  return 2
end
share_leave(share, holder, place, until_us > 0)
return holder and 1 or 2
