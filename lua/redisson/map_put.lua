-- SPDX-License-Identifier: MIT
-- Sets a field and returns its old value.
-- KEYS 1 a hash    ARGV 1 field  2 value  3 limit of the returned length
-- answers the old value; nil: none; an integer: the length of a longer one, and nothing was
--         changed
--@may_return late
--@include fitting
local old = fitting(redis.call('HGET', KEYS[1], ARGV[1]), ARGV[3])
if type(old) ~= 'number' then
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
end
return old
