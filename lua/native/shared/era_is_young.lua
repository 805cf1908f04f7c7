-- SPDX-License-Identifier: MIT
-- Whether `key`, the era's, has a quarantine that is not over, or another era. Then another
-- client may have had the name since the lease ended, and extending it could make two
-- owners. Nil: no era guard.
local function era_is_young(key)
  if not key then
    return false
  end
  local known, ends = string.match(redis.call('MGET', key)[1] or '', '^(%w+) (%d+)$')
  return not known or now < ends + 0 or
    known ~= string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)')
end
