-- SPDX-License-Identifier: MIT
-- Era guard, doc/design/protocol.md 16: a server that became primary, or restarted, may lack
-- the last grants, so it grants nothing for a while. The key of the era is the last of KEYS:
-- `<master_replid> <end of the quarantine, us>`. `place` is prefix and kind, perhaps with
-- more text. Returns nil, or a lease without client that represents all missing ones: a
-- client that has watched it for its length on its own clock is granted.
local function era_write(key, id, ends, is_cluster)
  -- Cluster has one for each tag: let it expire.
  redis.pcall('SET', key, id .. string.format(' %.0f', ends), 'PX',
    is_cluster and 86400000 or 2592000000)
end
-- No key: in Cluster a tag may be new on a node that lost no data.
local function era_end_of_unknown(info, length, is_cluster)
  local up = string.match(redis.call('INFO', 'server'), 'uptime_in_seconds:(%d+)') or 0
  if is_cluster and string.find(info, 'master_replid2:0+%s') and up * 1000 > length + 2000 then
    return now - 1800000000
  end
  return now + length * 1000
end
local function held_back(place, watched)
  local kind, length = string.match(place, '^[^{]+{([cs]?)q(%d+)')
  if not length then
    return nil
  end
  local key, info = KEYS[#KEYS], redis.call('INFO', 'replication')
  local id = string.match(info, 'master_replid:(%w+)')
  if not id then
    error('this server does not tell its master_replid, which the era guard needs')
  end
  length = length + 0
  local value = redis.call('MGET', key)[1]
  local known, ends = string.match(value or '', '^(%w+) (%d+)$')
  ends = ends and ends + 0
  if known ~= id then
    ends = known and now + length * 1000 or era_end_of_unknown(info, length, kind ~= '')
    era_write(key, id, ends, kind ~= '')
  elseif ends > now + length * 1000 then
    -- The clock was set back since.
    ends = now + length * 1000
    era_write(key, id, ends, kind ~= '')
  elseif now > ends + 3600000000 then
    -- Kept while it is in use.
    era_write(key, id, now - 1800000000, kind ~= '')
  end
  local token = ends - length * 1000
  local lease = string.format('......................:0:%.0f', token)
  if now >= ends or watched == lease then
    return nil
  end
  return { is_held = true, id = lease, lease = lease, client = '......................',
    ask = 0, token = token, deadline = ends, length = length, renewals = '0', flags = 0 }
end
