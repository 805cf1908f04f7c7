-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Ends an ask in any state: granted, or being sent. S8 S10.
-- KEYS, ARGV as release.lua    answers 1 a lease was released, else 0
--@include holds
local is_held = holds(KEYS[1], KEYS[3], ARGV[1])
if is_held then
  --@include let_go
  let_go(KEYS[1], KEYS[3], ARGV[3], ARGV[4])
end
if tonumber(ARGV[2]) > 0 then
  redis.pcall('SET', KEYS[2], '1', 'PX', ARGV[2])
end
return is_held and 1 or 0
