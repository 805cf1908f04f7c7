-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Ends the lease of this owner: compare and delete, and a message. S3 L2; doc/design/dialects.md 3.
-- KEYS 1 the lock  2 the end of its ask
-- ARGV 1 owner  2 ms in which a copy of the ask may arrive (0: none)
-- answers 1 done   2 gone   {3, another lease}
-- Of a token: the last argument is its limit.
if ARGV[3] then
  --@may_return late
end
local value = redis.call('GET', KEYS[1])
if value == ARGV[1] then
  --@include let_go
  let_go(KEYS[1])
end
if tonumber(ARGV[2]) > 0 then
  redis.pcall('SET', KEYS[2], '1', 'PX', ARGV[2])
end
if value == ARGV[1] then
  return 1
end
if not value then
  return 2
end
--@include foreign
return { 3, foreign }
