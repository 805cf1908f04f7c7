-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Disarms a latch; waiters stay blocked, as in Redisson.
-- KEYS as in shared/latch.lua    ARGV 1 channel
-- answers '1' disarmed   '0' it was not armed
--@may_return late
--@may_return latch
-- First a write that allocates nothing, so that a full server accepts the others.
redis.call('DEL', KEYS[3])
may_change()
if redis.call('EXISTS', KEYS[1]) == 0 then
  return answer('0')
end
forget_ids('d', now)
redis.call('DEL', KEYS[1])
tell_channel(channel, '1')
return answer('1')
