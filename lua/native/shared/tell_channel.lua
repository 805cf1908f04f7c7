-- SPDX-License-Identifier: MIT
-- Publishes on `channel`; a leading `{` marks a sharded channel. A node before 7.0 has none,
-- and the caller may not know that yet.
local function tell_channel(channel, message)
  local name = string.match(channel, '^{(.*)')
  if not name or type(redis.pcall('SPUBLISH', name, message)) == 'table' then
    redis.pcall('PUBLISH', name or channel, message)
  end
end
