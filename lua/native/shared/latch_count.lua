-- SPDX-License-Identifier: MIT
-- Reads the count of a latch.
-- KEYS 1 the count
local foreign = redis.error_reply('WRONGTYPE this key does not hold a count')
local left = redis.pcall('GET', KEYS[1])
if type(left) == 'table' then
  return string.find(left.err, 'WRONGTYPE Operation', 1, true) and foreign or left
end
