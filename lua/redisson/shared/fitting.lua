-- SPDX-License-Identifier: MIT
-- What others may have stored can be longer than a link takes: then its size is told.
local function fitting(value, most)
  if value and #value > most + 0 then
    return #value
  end
  return value
end
