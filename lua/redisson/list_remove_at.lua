-- SPDX-License-Identifier: MIT
-- Removes the element with an index, by a mark in its place.
-- KEYS 1 a list    ARGV 1 index, -1 the last  2 a mark that is no element
-- answers 1 done  0 there is none with this index
if not redis.call('LINDEX', KEYS[1], ARGV[1]) then
  return 0
end
redis.call('LSET', KEYS[1], ARGV[1], ARGV[2])
return redis.call('LREM', KEYS[1], 1, ARGV[2])
