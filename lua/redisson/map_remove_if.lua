-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Removes a field that has this value.
-- KEYS 1 a hash    ARGV 1 field  2 value
-- answers 1 done  0 another value, or none
--@may_return late
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then
  return 0
end
return redis.call('HDEL', KEYS[1], ARGV[1])
