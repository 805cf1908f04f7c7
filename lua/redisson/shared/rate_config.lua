-- SPDX-License-Identifier: MIT
-- Reads what is set of a rate limiter: rate, interval, keepAliveTime, type.
-- KEYS 1 the hash
local foreign = redis.error_reply('WRONGTYPE this key does not hold a rate limiter')
local config = redis.pcall('HMGET', KEYS[1], 'rate', 'interval', 'keepAliveTime', 'type')
if config.err then
  return string.find(config.err, 'WRONGTYPE Operation', 1, true) and foreign or config
end
