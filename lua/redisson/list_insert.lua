-- SPDX-License-Identifier: MIT
-- Inserts an element at an index; that element and all later ones move. The server inserts
-- before a value, not an index: so a mark replaces the element meanwhile.
-- KEYS 1 a list    ARGV 1 index from 0 on  2 element  3 a mark that is no element
-- answers 1 done  0 the list is shorter
--@may_return late
local at, size = ARGV[1] + 0, redis.call('LLEN', KEYS[1])
if at > size then
  return 0
elseif at == size then
  redis.call('RPUSH', KEYS[1], ARGV[2])
else
  local old = redis.call('LINDEX', KEYS[1], at)
  redis.call('LSET', KEYS[1], at, ARGV[3])
  local done = redis.pcall('LINSERT', KEYS[1], 'BEFORE', ARGV[3], ARGV[2])
  if type(done) == 'table' then                    -- the user has no right to it
    redis.call('LSET', KEYS[1], at, old)
    return done
  end
  redis.call('LSET', KEYS[1], at + 1, old)
end
return 1
