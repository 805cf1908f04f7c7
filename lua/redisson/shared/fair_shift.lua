-- SPDX-License-Identifier: MIT
-- How long we are waited for once our turn has come. Each who queues adds it to the deadline
-- of the one before him, and takes it from all behind him when he leaves. We poll, and so may
-- be trusted for less than Redisson's five minutes.
local fair_wait_ms = 30000

-- Nobody's deadline comes nearer than that: he may have put it off himself.
local function fair_shift(deadlines, member, now)
  local deadline = redis.call('ZSCORE', deadlines, member)
  local most = deadline and deadline - now / 1000 - fair_wait_ms or 0
  if most > 0 then
    redis.call('ZINCRBY', deadlines, string.format('%.0f', -math.min(most, fair_wait_ms)),
      member)
  end
end
