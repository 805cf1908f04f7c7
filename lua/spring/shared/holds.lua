-- SPDX-License-Identifier: MIT
-- Whether this ask of this owner has the lock. The value is the same for all asks of a
-- client, and a second key has the ask: a late copy of an older request finds no lease of
-- its own.
local function holds(key, ask_key, owner)
  return redis.pcall('GET', key) == string.sub(owner, 1, 36) and
    redis.call('GET', ask_key) == owner
end
