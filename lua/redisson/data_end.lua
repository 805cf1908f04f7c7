-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Sets or removes the end of a map, list or set. The fence of guarded writes to it, if there is
-- one, outlives it by a day, as in native/shared/guard.lua: it is first, as a longer life of it
-- does no harm.
-- KEYS 1 the name  2 its fence, if it can have one    ARGV 1 ms; absent: no end
-- answers as PEXPIRE or PERSIST
--@may_return late
local ms = ARGV[1]
if KEYS[2] and redis.call('EXISTS', KEYS[1]) == 1 then
  local left, least = redis.call('PTTL', KEYS[2]), (ms or 0) + 86400000
  if left >= 0 and not ms then
    redis.call('PERSIST', KEYS[2])
  elseif left >= 0 and left < least then
    redis.call('PEXPIRE', KEYS[2], string.format('%.0f', least))
  end
end
if ms then
  return redis.call('PEXPIRE', KEYS[1], ms)
end
return redis.call('PERSIST', KEYS[1])
