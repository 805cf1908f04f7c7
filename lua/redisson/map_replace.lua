-- SPDX-License-Identifier: MIT
-- Sets a field that exists, or exists with this value.
-- KEYS 1 a hash    ARGV 1 field  2 value  [3 the expected value]
-- answers 1 done  0 no such field, or another value
--@may_return late
local old = redis.call('HGET', KEYS[1], ARGV[1])
if not old or (ARGV[3] and old ~= ARGV[3]) then
  return 0
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 1
