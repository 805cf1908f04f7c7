-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Removes a field and returns its value.
-- KEYS 1 a hash    ARGV 1 field  2 limit of the returned length
-- answers as map_put
--@may_return late
--@include fitting
local old = fitting(redis.call('HGET', KEYS[1], ARGV[1]), ARGV[2])
if type(old) == 'string' then
  redis.call('HDEL', KEYS[1], ARGV[1])
end
return old
