-- SPDX-License-Identifier: MIT
-- Sets fields of a hash in one command, unless a newer fence was seen. Property S2.
-- KEYS, ARGV 1 to 4 as in shared/guard.lua    ARGV 5 ... field, value, ...
-- answers as guarded_set
--@may_return late
local kinds = { none = true, hash = true }
--@may_return guard
local left = redis.call('PTTL', KEYS[1])
redis.call('HSET', KEYS[1], unpack(ARGV, 5))
remember(math.max(left, -1))
return 1
