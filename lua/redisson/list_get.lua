-- SPDX-License-Identifier: MIT
--@function no-writes
-- KEYS 1 a list    ARGV 1 index, -1 the last  2 the longest element that may be told
-- answers the element; nil: there is none; an integer: its size, it is longer
--@include fitting
return fitting(redis.call('LINDEX', KEYS[1], ARGV[1]), ARGV[2])
