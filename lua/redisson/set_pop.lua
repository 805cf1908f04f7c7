-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Removes a random member and returns it.
-- KEYS 1 a set    ARGV 1 limit of the returned length
-- answers the member; nil: none; an integer: the length of a longer one, which is not removed
--@may_return late
--@include fitting
local member = fitting(redis.call('SRANDMEMBER', KEYS[1]), ARGV[1])
if type(member) == 'string' then
  redis.call('SREM', KEYS[1], member)
end
return member
