-- SPDX-License-Identifier: MIT
-- Whether a queue entry has a live waiter: no tombstone, not past its limit, and subscribed
-- to its inbox. Without an inbox it counts as live until its own limit.
--@include inbox_of
--@include may_wait
local function is_live(waiter)
  return may_wait(waiter) and (waiter.polls or listens(waiter.client))
end
