-- SPDX-License-Identifier: MIT
-- Sets fields of a hash, all in one, unless a newer fence was seen. Property S2; theme 4.
-- KEYS, ARGV 1 to 4 as shared/guard.lua says    ARGV 5 ... field and value in turn
-- answers as guarded_set
local kinds = { none = true, hash = true }
--@include guard
redis.call('HSET', KEYS[1], unpack(ARGV, 5))
remember()
return 1
