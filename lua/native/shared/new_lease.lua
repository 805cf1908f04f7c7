-- SPDX-License-Identifier: MIT
-- A new grant to `owner` (C:K): the value to store, its lease string and its token. Times
-- that come as text are written as they came: only T is formatted, and exactly (F6).
local function new_lease(owner, ttl, flags, last, floor)
  local token, ahead = now, ttl
  if token <= last then
    token = last + 1
  end
  if token <= floor then
    token = floor + 1
  end
  if token ~= now then
    ahead = math.ceil((now - token) / 1000) + ttl
  end
  local id = owner .. ':' .. string.format('%.0f', token)
  return id .. ' ' .. ahead .. ' ' .. ttl .. ' 0 ' .. flags, id, token
end
-- Beyond 2^53 neighbours could not be told apart. Checked before the first write.
local token_max = 9007199254740990
