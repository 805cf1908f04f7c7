-- SPDX-License-Identifier: MIT
-- The token of a new grant: now, or more if `last` or `floor` require it. A token that no
-- clock shows before the year 2112 (2^52 microseconds) is forged and ignored, so it blocks
-- no name. After a clock was set back, even by years, tokens continue from the last one.
local function token_above(last, floor)
  local token, limit = now, 4503599627370494
  if last >= token and last <= limit then
    token = last + 1
  end
  if floor >= token and floor <= limit then
    token = floor + 1
  end
  return token
end
