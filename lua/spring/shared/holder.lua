-- SPDX-License-Identifier: MIT
--@include owner_of
-- Who has the lock, as `U:K`: one of ours with his ask, others as their value tells; false
-- when nobody has it.
local function holder(key, ask_key)
  local value, ask = redis.call('GET', key), redis.call('GET', ask_key)
  if value and ask and string.sub(ask, 1, 37) == value .. ':' then
    return ask
  end
  return value and owner_of(value)
end
