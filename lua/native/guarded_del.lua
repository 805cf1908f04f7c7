-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Removes a key of any kind, unless a newer fence was seen. Property S2; theme 4.
-- KEYS, ARGV as shared/guard.lua says    answers as guarded_set
local kinds = setmetatable({}, { __index = function() return true end })
--@include guard
redis.call('DEL', KEYS[1])
remember()
return 1
