-- SPDX-License-Identifier: MIT
-- The last token of a lock; 0: none. One that no clock shows before the year 2112 (2^52
-- microseconds) is forged and ignored, as in native/shared/token_above.lua.
local function stored_token(key)
  local token = tonumber(redis.call('GET', key) or 0) or 0
  return token >= 1 and token <= 4503599627370494 and token or 0
end
