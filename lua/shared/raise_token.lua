-- SPDX-License-Identifier: MIT
--@include keep_token
--@include stored_token
-- First a write that allocates nothing, so that a full server accepts the next one.
local function raise_token(key, token)
  if stored_token(key) < token then
    redis.call('PEXPIRE', key, 600000)
    keep_token(key, token)
  end
end
