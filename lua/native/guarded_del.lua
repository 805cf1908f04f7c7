-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Removes a key of any type, unless a newer fence was seen. Property S2.
-- KEYS, ARGV as in shared/guard.lua    answers as guarded_set
--@may_return late
local kinds = setmetatable({}, { __index = function() return true end })
--@may_return guard
redis.call('DEL', KEYS[1])
remember(-2)
return 1
