-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Removes the first or last element and tells it.
-- KEYS 1 a list    ARGV 1 0 the first, -1 the last  2 the longest element that may be told
-- answers it; nil: there is none; an integer: its size, it is longer, and it is still there
--@include fitting
local element = fitting(redis.call('LINDEX', KEYS[1], ARGV[1]), ARGV[2])
if type(element) == 'string' then
  redis.call(ARGV[1] == '0' and 'LPOP' or 'RPOP', KEYS[1])
end
return element
