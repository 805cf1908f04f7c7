-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Ends an ask in any state: no queue entry and no share of it is left, and a late copy of
-- the request finds a tombstone. S8 S10; doc/design/protocol.md 9.
-- KEYS 1 the resource  2 with an era guard: the era
-- ARGV 1 C:K  2 until (0: no end)  3 `<prefix> <name>`  4 expected TIME (0: in doubt)
-- answers 1 a share was released, else 0
--@include share_load
local share, mine, place = share_load(KEYS[1], 'k' .. ARGV[1], 'c' .. ARGV[1])
if share.kind == 'lock' or share.kind == 'other' then
  return share_refuse(share)
end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local doubt = math.abs(now - ARGV[4]) > 250000 and 2 or 0
local key = KEYS[1]
local prefix, name = string.match(ARGV[3], '^(%S+) (.*)$')
--@include era
local quarantine = held_back(prefix)
local id, until_us = ARGV[1], ARGV[2] + 0
--@include share_leave
local holder = mine and share_holder(id, mine)
share_leave(share, holder, place, true)
return holder and 1 or 0
