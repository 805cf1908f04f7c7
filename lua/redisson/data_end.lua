-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Sets or removes the end of a map, list or set, or removes it. The fence of guarded writes to
-- it, if there is one, outlives it by a day, as in native/shared/guard.lua: it is first, as a
-- longer life of it does no harm.
-- KEYS 1 the name  2 its fence, if it can have one
-- ARGV 1 ms; UNLINK: removes it; absent: no end
-- answers as PEXPIRE, UNLINK or PERSIST
--@may_return late
local ms, left = ARGV[1], KEYS[2] and redis.call('PTTL', KEYS[2]) or -2
local fence_ms = ms and (ms == 'UNLINK' and 0 or ms) + 86400000
if left >= -1 and redis.call('EXISTS', KEYS[1]) == 1 then
  if not ms then
    redis.call('PERSIST', KEYS[2])
  elseif left < fence_ms then      -- also one without an end
    redis.call('PEXPIRE', KEYS[2], string.format('%.0f', fence_ms))
  end
end
if ms == 'UNLINK' then
  return redis.call('UNLINK', KEYS[1])
end
if ms then
  return redis.call('PEXPIRE', KEYS[1], ms)
end
return redis.call('PERSIST', KEYS[1])
