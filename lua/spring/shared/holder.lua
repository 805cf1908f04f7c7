-- SPDX-License-Identifier: MIT
--@include owner_of
-- The owner of the lock, as `U:K`: our own with its ask, others by their value; false: free.
local function holder(key, ask_key)
  local value, ask = redis.call('GET', key), redis.call('GET', ask_key)
  if value and ask and string.sub(ask, 1, 37) == value .. ':' then
    return ask
  end
  return value and owner_of(value)
end
