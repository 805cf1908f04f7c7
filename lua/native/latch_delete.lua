-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Disarms a latch; nobody is released by that, as in Redisson.
-- KEYS as shared/latch.lua says    ARGV 1 channel
-- answers '1' disarmed   '0' it was not armed
--@include latch
if redis.call('DEL', KEYS[1]) == 0 then
  return answer('0')
end
local zeroed = redis.call('HGET', KEYS[2], 'z')
redis.call('DEL', KEYS[2])
note('d', now)
if zeroed then
  note('z', zeroed)
end
tell_channel(channel, '1')
return answer('1')
