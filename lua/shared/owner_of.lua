-- SPDX-License-Identifier: MIT
-- The owner of a lock's value, as `U:K`: our own values as they are, a bare UUID with 1 for
-- K, and for all other values a digest as U, so that it can be reported and named.
local function owner_of(value)
  local four = string.rep('[0-9a-f]', 4)
  local uuid = '^' .. four .. four .. string.rep('%-' .. four, 4) .. four .. four
  if string.find(value, uuid .. ':[1-9]%d*$') and #value <= 55 then
    return value
  end
  if not string.find(value, uuid .. '$') then
    local hex, x4 = string.sub(redis.sha1hex(value), 1, 32), '(%x%x%x%x)'
    value = string.gsub(hex, '^(%x%x%x%x%x%x%x%x)' .. x4 .. x4 .. x4, '%1-%2-%3-%4-')
  end
  return value .. ':1'
end
