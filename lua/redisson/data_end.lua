-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Sets or removes the end of a map, list or set. The fence of guarded writes to it, if there is
-- one, outlives it by a day, as in native/shared/guard.lua: it is first, as a longer life of it
-- does no harm.
-- KEYS 1 the name  2 its fence, if it can have one    ARGV 1 ms; absent: no end
-- answers as PEXPIRE or PERSIST
--@may_return late
local ms, left = ARGV[1], KEYS[2] and redis.call('PTTL', KEYS[2]) or -2
if left >= 0 and redis.call('EXISTS', KEYS[1]) == 1 then
  if not ms then
    redis.call('PERSIST', KEYS[2])
  elseif left < ms + 86400000 then
    redis.call('PEXPIRE', KEYS[2], string.format('%.0f', ms + 86400000))
  end
end
if ms then
  return redis.call('PEXPIRE', KEYS[1], ms)
end
return redis.call('PERSIST', KEYS[1])
