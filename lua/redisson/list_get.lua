-- SPDX-License-Identifier: MIT
--@function no-writes
-- KEYS 1 a list    ARGV 1 index, -1 the last  2 limit of the returned length
-- answers the element; nil: none; an integer: the length of a longer one
--@include fitting
return fitting(redis.call('LINDEX', KEYS[1], ARGV[1]), ARGV[2])
