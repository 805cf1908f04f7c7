-- SPDX-License-Identifier: MIT
-- Tells it, as a hint: what has been done stays done. A server that knows no sharded channels
-- tells it to all. How many heard it, as far as this server knows. Scripts include this before
-- the pieces that use it.
local function say(publish, channel, words)
  local heard = redis.pcall(publish, channel, words)
  if type(heard) == 'table' then
    heard = redis.pcall('PUBLISH', channel, words)
  end
  return tonumber(heard) or 0
end
