-- SPDX-License-Identifier: MIT
-- Notifies an owner that others have ended its lease: it may still believe in it. The holder of
-- a fair lock listens to its own channel, others to that of the lock, where wake() publishes.
local function say_owner(publish, channel, owner)
  say(publish, channel .. ':' .. owner, '0')
end
