-- SPDX-License-Identifier: MIT
-- The key outlives every lease and every pause of its waiters; never shortened here.
local function retention(length)
  if length <= 900000 then
    return 3600000
  end
  return 4 * length
end
local function raise_ttl(key, length)
  if redis.call('PTTL', key) < retention(length) then
    redis.call('PEXPIRE', key, retention(length))
  end
end
