-- SPDX-License-Identifier: MIT
-- Tells all who listen on `channel`; a `{` in front says that it is one of its slot only. A node
-- before 7.0 has none such, and who asks may not know yet.
local function tell_channel(channel, message)
  local name = string.match(channel, '^{(.*)')
  if not name or type(redis.pcall('SPUBLISH', name, message)) == 'table' then
    redis.pcall('PUBLISH', name or channel, message)
  end
end
