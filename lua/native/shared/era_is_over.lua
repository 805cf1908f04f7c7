-- SPDX-License-Identifier: MIT
-- Whether no quarantine holds anything back, and the key of the era needs no change: there is no
-- era guard, or era.lua would return nil and write nothing. For the ways that are straight on.
local is_over = true
if KEYS[2] then
  local id = string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)')
  local known, ends = string.match(redis.call('MGET', KEYS[2])[1] or '', '^(%w+) (%d+)$')
  is_over = known and known == id and now >= ends + 0 and now <= ends + 3600000000
end
