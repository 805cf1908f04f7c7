-- SPDX-License-Identifier: MIT
-- Publishes a hint: the change itself stays if this fails. A server without sharded channels
-- publishes on a plain one. Returns the number of receivers that this server knows. Include
-- it before pieces that use it.
local function say(publish, channel, words)
  local heard = redis.pcall(publish, channel, words)
  if type(heard) == 'table' then
    heard = redis.pcall('PUBLISH', channel, words)
  end
  return tonumber(heard) or 0
end
