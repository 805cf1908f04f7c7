-- SPDX-License-Identifier: MIT
--@include keep_token
-- What a grant gets that would have this token by the clock: more than the one before it.
local function next_token(key, token)
  token = math.max(token, tonumber(redis.call('GET', key) or 0) + 1)
  keep_token(key, token)
  return token
end
