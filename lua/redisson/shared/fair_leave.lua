-- SPDX-License-Identifier: MIT
--@include fair_shift
-- W4 of the format: an owner that gives up leaves the queue of a fair lock, and its waiting
-- time is subtracted from the deadlines of later owners. Returns whether it was queued.
local function fair_leave(queue, deadlines, owner, now)
  local is_behind = false
  if redis.call('ZREM', deadlines, owner) == 0 then
    return false
  end
  for _, member in ipairs(redis.call('LRANGE', queue, 0, -1)) do
    if is_behind then
      fair_shift(deadlines, member, now)
    end
    is_behind = is_behind or member == owner
  end
  redis.call('LREM', queue, 0, owner)
  return true
end
