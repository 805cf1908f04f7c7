-- SPDX-License-Identifier: MIT
--@function allow-oom
-- As data_add, for commands that a full server executes.
--@may_return late
return redis.pcall(ARGV[1], KEYS[1], unpack(ARGV, 2))
