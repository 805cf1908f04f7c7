-- SPDX-License-Identifier: MIT
--@include is_grant
-- Ends the ask under `key` in any state; `detached`: a detached lease of it. Returns 1 if a
-- lease was released, else 0; nil: the key has another form.
local function end_ask(detached)
  local lease, queue = load(key, ARGV[1])
  if not lease then
    return nil
  end
  local is_mine = lease.client == ARGV[1] and not (lease.is_held and is_grant(lease, detached))
  if is_mine and lease.ask > ask then
    return 0
  end
  if queue then
    --@include entomb
  end
  local memory = string.format('%s:%s:%.0f', ARGV[1], ARGV[2], lease.token)
  if is_mine and lease.is_held then
    end_lease(queue, lease.token, memory)
    return 1
  end
  -- Free, and perhaps unknown: the key itself is the tombstone.
  if not lease.is_held and not queue then
    redis.pcall('SET', key, '=' .. memory, 'PX', 3600000)
  end
  return 0
end
