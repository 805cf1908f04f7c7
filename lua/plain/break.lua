-- SPDX-License-Identifier: MIT
--@function allow-oom
-- An administrator ends the lease of this owner, ours or foreign.
-- KEYS 1 the lock    ARGV 1 owner as reported by inspect.lua    answers as release.lua
--@may_return late
--@include owner_of
--@include let_go
local value = redis.call('GET', KEYS[1])
if not value then
  return 2
end
if owner_of(value) == ARGV[1] then
  let_go(KEYS[1])
  return 1
end
--@include foreign
return { 3, foreign }
