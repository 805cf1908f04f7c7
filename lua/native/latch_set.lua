-- SPDX-License-Identifier: MIT
-- Arms a latch that is not armed, as Redisson's trySetCount does.
-- KEYS as in shared/latch.lua    ARGV 1 channel  2 count
-- answers '1' armed   '0' it is armed already
--@may_return late
--@may_return latch
if left then
  return answer('0')
end
may_change()
forget_ids()
redis.call('SET', KEYS[1], ARGV[2])
tell_channel(channel, '1')
return answer('1')
