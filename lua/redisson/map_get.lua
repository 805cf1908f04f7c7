-- SPDX-License-Identifier: MIT
--@function no-writes
-- KEYS 1 a hash    ARGV 1 field  2 limit of the returned length
-- answers its value; nil: none; an integer: the length of a longer one
--@include fitting
return fitting(redis.call('HGET', KEYS[1], ARGV[1]), ARGV[2])
