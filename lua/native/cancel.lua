-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Ends an ask in any state: no queue entry and no lease of this number or a lower one is
-- left, and a late copy of the request finds that it has ended. S8 S10.
-- KEYS 1 the lock, 2 with an era guard the era
-- ARGV 1 C  2 K  3 until (0: none)  4 `<prefix> <name>`
--      5 expected TIME (0: in doubt)  6 a detached lease, if any
-- answers 1 a lease was released, else 0
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local doubt = math.abs(now - ARGV[5]) > 250000 and 2 or 0
local ask, until_us = tonumber(ARGV[2]), tonumber(ARGV[3])
local key = KEYS[1]
local prefix, name = string.match(ARGV[4], '^(%S+) (.*)$')
--@include load
--@include new_lease
--@include end_lease
--@include end_ask
return end_ask(ARGV[6]) or foreign
