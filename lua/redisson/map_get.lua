-- SPDX-License-Identifier: MIT
--@function no-writes
-- KEYS 1 a hash    ARGV 1 field  2 the longest value that may be told
-- answers its value; nil: there is none; an integer: its size, it is longer
--@include fitting
return fitting(redis.call('HGET', KEYS[1], ARGV[1]), ARGV[2])
