-- SPDX-License-Identifier: MIT
-- The stored form of `lease` with at least `ttl` from now; it is never shortened. Each
-- extension counts, so that watchers start again (F7).
local function longer_lease(lease, ttl)
  local length = math.max(lease.length, ttl)
  local deadline = math.max(lease.deadline, now + ttl * 1000)
  local ahead = math.ceil((deadline - lease.token) / 1000)
  -- A doubt ends only with a renewal at least as long as the earlier lease.
  local doubts = ttl < lease.length and lease.flags >= 2 and 2 or doubt
  local value = string.format('%s %.0f %.0f %.0f %d', lease.id, ahead, length,
    lease.renewals + 1, lease.flags % 2 + doubts)
  return value, length, math.min(math.floor((lease.token + ahead * 1000 - now) / 1000), length)
end
