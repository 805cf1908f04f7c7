-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Disarms a latch; waiters stay blocked, as in Redisson.
-- KEYS as in shared/latch.lua    ARGV 1 channel
-- answers '1' disarmed   '0' it was not armed
--@may_return late
--@may_return latch
if redis.call('DEL', KEYS[1]) == 0 then
  return answer('0')
end
forget_ids()
note('d', now)
tell_channel(channel, '1')
return answer('1')
