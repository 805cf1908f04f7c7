-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Removes fields of a hash, unless a newer fence was seen. Property S2. HDEL comes first: a
-- full server accepts the fence after a write that needs no memory.
-- KEYS, ARGV 1 to 4 as in shared/guard.lua    ARGV 5 ... fields
-- answers as guarded_set
--@may_return late
local kinds = { none = true, hash = true }
--@may_return guard
redis.call('PTTL', KEYS[1])
redis.call('HDEL', KEYS[1], unpack(ARGV, 5))
-- While a slot migrates, a cluster node refuses a key that was removed.
local left = redis.pcall('PTTL', KEYS[1])
remember(type(left) == 'number' and left or -2)
return 1
