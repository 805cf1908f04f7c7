-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Ends the lease of this owner. S3 L2; doc/design/dialects.md 2.
-- KEYS 1 the lock  2 the end of its ask  3 the ask that has the lock
-- ARGV 1 owner  2 ms in which a copy of the ask may arrive (0: none)
--      3 the channel  4 the channel before 6.4.8
-- answers 1 done   2 gone   {3, another lease}
-- Of a token: the last argument is its limit.
if ARGV[5] then
  --@may_return late
end
--@include holds
local is_held = holds(KEYS[1], KEYS[3], ARGV[1])
if is_held then
  --@include let_go
  let_go(KEYS[1], KEYS[3], ARGV[3], ARGV[4])
end
if tonumber(ARGV[2]) > 0 then
  redis.pcall('SET', KEYS[2], '1', 'PX', ARGV[2])
end
if is_held then
  return 1
end
if redis.call('EXISTS', KEYS[1]) == 0 then
  return 2
end
--@include foreign
return { 3, foreign }
