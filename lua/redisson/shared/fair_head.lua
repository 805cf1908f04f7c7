-- SPDX-License-Identifier: MIT
-- The first live owner of a fair lock's queue, by the deadlines; removes earlier ones, also
-- those without a deadline, which no other script would remove.
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
