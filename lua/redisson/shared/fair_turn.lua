-- SPDX-License-Identifier: MIT
--@include fair_head
--@include fair_shift
-- Whether it is this owner's turn; if not, and the owner waits, it is queued, and its
-- deadline is extended while it polls.
local function fair_turn(queue, deadlines, owner, now, is_free, waits, left)
  local head = fair_head(queue, deadlines, now)
  if is_free and (not head or head == owner) then
    if head then
      redis.call('LPOP', queue)
      redis.call('ZREM', deadlines, owner)
    end
    for _, member in ipairs(redis.call('ZRANGE', deadlines, 0, -1)) do
      fair_shift(deadlines, member, now)
    end
    return true
  end
  if not waits then
    return false
  end
  local now_ms = math.floor(now / 1000)
  local deadline = redis.call('ZSCORE', deadlines, owner)
  if not deadline then
    local last = redis.call('LINDEX', queue, -1)
    local before = last and redis.call('ZSCORE', deadlines, last)
    before = before and tonumber(before) or now_ms + math.max(left, 0)
    -- An owner without a deadline is removed by the next script; one without a place is not.
    redis.call('RPUSH', queue, owner)
    redis.call('ZADD', deadlines, string.format('%.0f', before + fair_wait_ms), owner)
  elseif tonumber(deadline) < now_ms + fair_wait_ms then
    redis.call('ZADD', deadlines, string.format('%.0f', now_ms + fair_wait_ms), owner)
  end
  return false
end
