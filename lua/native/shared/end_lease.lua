-- SPDX-License-Identifier: MIT
-- Ends the lease: the next waiter gets it, or the key keeps the last grant for a while, also on a
-- full server. In quarantine no waiter is granted, and the queue stays.
--@include grant_next
--@include era
local function end_lease(queue, last, memory)
  if queue and held_back(prefix) then
    redis.call('PEXPIRE', key, math.max(3600000, redis.call('PTTL', key)))
    redis.call('HSET', key, 's', '=' .. memory)
    return
  end
  if queue and grant_next(queue, last) then
    return
  end
  if queue and redis.pcall('SET', key, '=' .. memory, 'PX', 3600000).ok then
    return
  end
  --@include keep_last
end
