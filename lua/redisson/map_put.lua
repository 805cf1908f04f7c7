-- SPDX-License-Identifier: MIT
-- Sets a field and tells what was there.
-- KEYS 1 a hash    ARGV 1 field  2 value  3 the longest value that may be told
-- answers the old value; nil: there was none; an integer: its size, it is longer, and
--         nothing was changed
--@include fitting
local old = fitting(redis.call('HGET', KEYS[1], ARGV[1]), ARGV[3])
if type(old) ~= 'number' then
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
end
return old
