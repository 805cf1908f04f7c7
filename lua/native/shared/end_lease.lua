-- SPDX-License-Identifier: MIT
-- The lease is over: the next waiter gets it, or the key turns into the short memory of the
-- last grant. The first write allocates nothing or is tried again behind one that does not:
-- so a full server still lets go (B16).
--@include grant_next
local function end_lease(queue, last, memory)
  if queue and last <= token_max and grant_next(queue, last) then
    return
  end
  local done
  if queue then
    done = redis.pcall('SET', key, '=' .. memory, 'PX', 3600000)
  else
    done = redis.pcall('SET', key, '=' .. memory, 'KEEPTTL')
  end
  if not done.ok then
    redis.call('PEXPIRE', key, 3600000)
    redis.call('SET', key, '=' .. memory, 'PX', 3600000)
  end
end
