-- SPDX-License-Identifier: MIT
--@function allow-oom
-- An administrator ends the lease of this owner, ours or foreign.
-- KEYS 1 the lock  2 the ask that has it
-- ARGV 1 owner as reported by inspect.lua  2 the channel  3 the channel before 6.4.8
-- answers as release.lua
--@may_return late
--@include holder
--@include let_go
local owner = holder(KEYS[1], KEYS[2])
if not owner then
  return 2
end
if owner == ARGV[1] then
  let_go(KEYS[1], KEYS[2], ARGV[2], ARGV[3])
  return 1
end
--@include foreign
return { 3, foreign }
