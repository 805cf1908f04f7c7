-- SPDX-License-Identifier: MIT
-- A stored value may be longer than a link accepts: then its length is returned.
local function fitting(value, most)
  if value and #value > most + 0 then
    return #value
  end
  return value
end
