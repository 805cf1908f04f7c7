-- SPDX-License-Identifier: MIT
-- One command of the server on a map, list or set, with the limit of its caller.
-- KEYS 1 the name    ARGV 1 the command  2 ... its arguments after the key
-- answers as the command
--@may_return late
return redis.pcall(ARGV[1], KEYS[1], unpack(ARGV, 2))
