-- SPDX-License-Identifier: MIT
-- Whether `key`, that of the era, says that its quarantine is not over, or does not know this
-- one. Then a lease that has ended may have been somebody else's since, so that lengthening it
-- would make an owner. Nil: no era guard.
local function era_is_young(key)
  if not key then
    return false
  end
  local known, ends = string.match(redis.call('MGET', key)[1] or '', '^(%w+) (%d+)$')
  return not known or now < ends + 0 or
    known ~= string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)')
end
