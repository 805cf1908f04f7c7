-- SPDX-License-Identifier: MIT
--@include keep_token
--@include stored_token
-- The token of a grant: `token` by the clock, or more than the previous one.
local function next_token(key, token)
  token = math.max(token, stored_token(key) + 1)
  keep_token(key, token)
  return token
end
