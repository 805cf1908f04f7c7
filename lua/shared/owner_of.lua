-- SPDX-License-Identifier: MIT
-- Of whom the value of a lock is, as `U:K`: what our own say, a UUID alone with 1 for K, and
-- of all else a digest in the place of U, so that it can be told and named.
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
