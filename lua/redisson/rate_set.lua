-- SPDX-License-Identifier: MIT
-- Sets the rate of a rate limiter.
-- KEYS as in shared/rate.lua, 6 as in shared/told.lua
-- ARGV 1 rate  2 interval, ms  3 keepAliveTime, ms, 0 none  4 type
--      5 n only if none is set   s and delete the entries   u and keep them
-- answers '1' set   '0' one is already set   '-1' none to update
--@may_return late
--@may_return told
--@may_return rate_config
local old = config
local is_set = old[1] and old[2] and old[4]
if not old[1] and redis.call('EXISTS', KEYS[1]) == 1 then
  return foreign
end
if ARGV[5] == 'n' and is_set then
  return answer('0')
end
if ARGV[5] == 'u' and not is_set then
  return answer('-1')
end
redis.call('HSET', KEYS[1], 'rate', ARGV[1], 'interval', ARGV[2], 'keepAliveTime', ARGV[3],
           'type', ARGV[4])
if ARGV[3] + 0 > 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
elseif (tonumber(old[3]) or 0) > 0 then
  redis.call('PERSIST', KEYS[1])
  redis.call('PERSIST', KEYS[2])
  redis.call('PERSIST', KEYS[4])
end
if ARGV[5] == 's' or ARGV[5] == 'u' and ARGV[4] ~= old[4] then
  redis.call('DEL', KEYS[2], KEYS[3], KEYS[4], KEYS[5])
elseif ARGV[5] == 'u' then
  --@may_return rate
  write_value(rate - sum_of(live()) - remove_gone())
  live_on()
end
return answer('1')
