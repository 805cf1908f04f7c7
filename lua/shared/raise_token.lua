-- SPDX-License-Identifier: MIT
--@include keep_token
-- First a write that allocates nothing, so that a full server accepts the next one.
local function raise_token(key, token)
  if tonumber(redis.call('GET', key) or 0) < token then
    redis.call('PEXPIRE', key, 600000)
    keep_token(key, token)
  end
end
