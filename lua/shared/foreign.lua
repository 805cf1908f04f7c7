-- SPDX-License-Identifier: MIT
-- A holder for which the format has an owner and an end, but no lease of ours.
local foreign = '......................:1:1'
local day_ms = 86400000

-- The reply if the lock is not granted now. A lease without an end, as redis-py writes it
-- without a timeout, is polled like any other.
local function taken(key, mode, now)
  local left = redis.call('PTTL', key)
  if left < 0 or left > day_ms then
    left = left == -2 and 0 or day_ms
  end
  return { mode == 't' and 4 or 3, now, left, left, foreign, 0, 0 }
end
