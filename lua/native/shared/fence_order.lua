-- SPDX-License-Identifier: MIT
-- Fences exceed 2^53, the limit of exact numbers in Lua: digits are compared, the longer
-- number is the greater.
local function is_below(a, b)
  if #a ~= #b then
    return #a < #b
  end
  return a < b
end
