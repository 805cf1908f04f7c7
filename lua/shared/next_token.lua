-- SPDX-License-Identifier: MIT
--@include keep_token
-- The token of a grant: `token` by the clock, or more than the previous one.
local function next_token(key, token)
  token = math.max(token, tonumber(redis.call('GET', key) or 0) + 1)
  keep_token(key, token)
  return token
end
