-- SPDX-License-Identifier: MIT
-- KEYS 1 a list    ARGV 1 index, -1 the last  2 element
-- answers 1 done  0 no element has this index
--@may_return late
if not redis.call('LINDEX', KEYS[1], ARGV[1]) then
  return 0
end
redis.call('LSET', KEYS[1], ARGV[1], ARGV[2])
return 1
