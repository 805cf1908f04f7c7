-- SPDX-License-Identifier: MIT
-- How long other owners wait for us when our turn has come. Each owner that queues adds it
-- to the deadline of the previous one, and subtracts it from all later ones when it leaves.
-- We poll, so less than Redisson's five minutes suffices.
local fair_wait_ms = 30000

-- A deadline never comes nearer than that: its owner may have extended it.
local function fair_shift(deadlines, member, now)
  local deadline = redis.call('ZSCORE', deadlines, member)
  local most = deadline and deadline - now / 1000 - fair_wait_ms or 0
  if most > 0 then
    redis.call('ZINCRBY', deadlines, string.format('%.0f', -math.min(most, fair_wait_ms)),
      member)
  end
end
