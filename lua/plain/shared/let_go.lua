-- SPDX-License-Identifier: MIT
-- Deletes the lock, and notifies its waiters: those of dibs, and of its Lock for redis-py, which
-- publishes the same. A user without the right to publish releases all the same.
local function let_go(key)
  redis.call('DEL', key)
  redis.pcall('PUBLISH', 'dibs:free:' .. key, '')
end
