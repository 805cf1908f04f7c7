-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Ends an ask for several names: as cancel, for each. S8 S10; doc/design/protocol.md 10.
-- KEYS the locks, and with an era guard the era
-- ARGV 1 C.n  2 K  3 until (0: none)  4 prefix  5 expected TIME (0: in doubt)
--      6 ... the names, in the order of the keys
-- answers 1 a lease was released, else 0. A key of another form has no lease.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local doubt = math.abs(now - ARGV[5]) > 250000 and 2 or 0
local ask, until_us = tonumber(ARGV[2]), tonumber(ARGV[3])
local prefix = ARGV[4]
local key, name
--@include load
--@include new_lease
--@include end_lease
--@include end_ask
local given_up = 0
for i = 1, #ARGV - 5 do
  key, name = KEYS[i], ARGV[5 + i]
  given_up = math.max(given_up, end_ask() or 0)
end
return given_up
