-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Sets or removes the end of a map, list or set, or removes it. The fence of guarded writes to
-- it, if there is one, outlives it by a day, as in native/shared/guard.lua. If the user may not
-- change the key, the fence has a longer life, and never a shorter one: its end is set later
-- before the change, and given to a fence without an end after it.
-- KEYS 1 the name  2 its fence, if it can have one
-- ARGV 1 ms; UNLINK: removes it; absent: no end
-- answers as PEXPIRE, UNLINK or PERSIST
--@may_return late
local ms, left = ARGV[1], KEYS[2] and redis.call('PTTL', KEYS[2]) or -2
local fence_ms = ms and (ms == 'UNLINK' and 0 or ms) + 86400000
local fence_end = ms and string.format('%.0f', fence_ms)
if left >= 0 and redis.call('EXISTS', KEYS[1]) == 1 then
  if not ms then
    redis.call('PERSIST', KEYS[2])
  elseif left < fence_ms then
    redis.call('PEXPIRE', KEYS[2], fence_end)
  end
end
if not ms then
  return redis.call('PERSIST', KEYS[1])
end
local done = ms == 'UNLINK' and redis.call('UNLINK', KEYS[1]) or redis.call('PEXPIRE', KEYS[1], ms)
if left == -1 and done == 1 then
  redis.pcall('PEXPIRE', KEYS[2], fence_end)
end
return done
