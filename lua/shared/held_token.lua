-- SPDX-License-Identifier: MIT
--@include next_token
-- The token of a lease that is still there. The stored one may have ended: no other grant was
-- possible since, so `token` by the clock is above all before.
local function held_token(key, token)
  local last = stored_token(key)
  return last > 0 and last or next_token(key, token)
end
