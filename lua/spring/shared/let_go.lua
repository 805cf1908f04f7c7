-- SPDX-License-Identifier: MIT
-- Deletes the lock and notifies Spring: since 6.4.8 on a channel for each lock, before on
-- one for all locks of a registry.
local function let_go(key, ask_key, channel, old_channel)
  redis.call('UNLINK', key, ask_key)
  redis.call('PUBLISH', channel, key)
  redis.call('PUBLISH', old_channel, key)
end
