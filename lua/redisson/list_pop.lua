-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Removes the first or last element and returns it.
-- KEYS 1 a list    ARGV 1 0 the first, -1 the last  2 limit of the returned length
-- answers the element; nil: none; an integer: the length of a longer one, which is not removed
--@may_return late
--@include fitting
local element = fitting(redis.call('LINDEX', KEYS[1], ARGV[1]), ARGV[2])
if type(element) == 'string' then
  redis.call(ARGV[1] == '0' and 'LPOP' or 'RPOP', KEYS[1])
end
return element
