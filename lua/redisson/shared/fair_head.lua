-- SPDX-License-Identifier: MIT
-- The first of the queue of a fair lock who still lives by the deadlines; those before it
-- are forgotten, also one without a deadline, which nobody else would ever forget.
local function fair_head(queue, deadlines, now)
  local head = redis.call('LINDEX', queue, 0)
  while head do
    local deadline = redis.call('ZSCORE', deadlines, head)
    if deadline and tonumber(deadline) > now / 1000 then
      return head
    end
    redis.call('ZREM', deadlines, head)
    redis.call('LPOP', queue)
    head = redis.call('LINDEX', queue, 0)
  end
  return nil
end
