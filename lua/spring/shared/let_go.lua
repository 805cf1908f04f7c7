-- SPDX-License-Identifier: MIT
-- Deletes the lock and notifies Spring: since 6.4.8 on a channel for each lock, before on
-- one for all locks of a registry. A user without the right to publish on one of them ends the
-- lease all the same.
local function let_go(key, ask_key, channel, old_channel)
  redis.call('UNLINK', key, ask_key)
  redis.pcall('PUBLISH', channel, key)
  redis.pcall('PUBLISH', old_channel, key)
end
