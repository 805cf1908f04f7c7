-- SPDX-License-Identifier: MIT
-- A new grant to `owner` (C:K): stored form, lease id and token. Times that come as text are
-- written unchanged: only T is formatted, exactly (F6).
--@include token_above
local function new_lease(owner, ttl, flags, last, floor)
  local token, ahead = token_above(last, floor), ttl
  if token ~= now then
    ahead = math.ceil((now - token) / 1000) + ttl
  end
  local id = owner .. ':' .. string.format('%.0f', token)
  return id .. ' ' .. ahead .. ' ' .. ttl .. ' 0 ' .. flags, id, token
end
