-- SPDX-License-Identifier: MIT
-- Removes the element at an index, by replacing it with a mark.
-- KEYS 1 a list    ARGV 1 index, -1 the last  2 a mark that is no element
-- answers 1 done  0 no element has this index
--@may_return late
local old = redis.call('LINDEX', KEYS[1], ARGV[1])
if not old then
  return 0
end
redis.call('LSET', KEYS[1], ARGV[1], ARGV[2])
local done = redis.pcall('LREM', KEYS[1], 1, ARGV[2])
if type(done) == 'table' then                      -- the user has no right to it
  redis.call('LSET', KEYS[1], ARGV[1], old)
end
return done
