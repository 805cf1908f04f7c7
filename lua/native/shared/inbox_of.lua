-- SPDX-License-Identifier: MIT
-- Where `asker` is told: a set of names, `C.n`, at the inbox of its client C.
local function inbox_of(asker)
  return prefix .. ':inbox:' .. string.sub(asker, 1, 22)
end
