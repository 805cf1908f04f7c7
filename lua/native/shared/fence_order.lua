-- SPDX-License-Identifier: MIT
-- Fences exceed 2^53, where numbers of Lua cannot be told apart: digits are compared, the
-- longer is the greater.
local function is_below(a, b)
  if #a ~= #b then
    return #a < #b
  end
  return a < b
end
