-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Removes any member and tells which.
-- KEYS 1 a set    ARGV 1 the longest member that may be told
-- answers it; nil: there is none; an integer: its size, it is longer, and it is still there
--@include fitting
local member = fitting(redis.call('SRANDMEMBER', KEYS[1]), ARGV[1])
if type(member) == 'string' then
  redis.call('SREM', KEYS[1], member)
end
return member
