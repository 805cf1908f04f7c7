-- SPDX-License-Identifier: MIT
-- Grants, and saving: a script collects its changes in `share` and writes them at its end.
-- All that is new in one write, so that it is refused completely or not at all; then removals,
-- then messages.
--@include raise_ttl
--@include inbox_of
--@include token_above
local function share_put(share, field, value)
  share.set[#share.set + 1] = field
  share.set[#share.set + 1] = value
end
local function share_fits(share, mode, units)
  if mode == 'r' then
    return share.writes == 0
  end
  if mode == 'w' then
    return share.used == 0
  end
  return share.used + units <= share.limit
end
local function share_is_full(share)
  return not share_fits(share, share.kind == 'sem' and 'p' or 'r', 1)
end
-- `doubt` as in grant_next.lua.
local function share_grant(share, id, mode, units, ttl, token)
  local ahead = token == now and ttl or math.ceil((now - token) / 1000) + ttl
  local deadline = token + ahead * 1000
  share.token, share.used = token, share.used + units
  if mode == 'w' then
    share.writes = 1
  end
  if doubt == 0 and (share.earliest == 0 or deadline < share.earliest) then
    share.earliest = deadline
  end
  if share.ends == 0 or deadline < share.ends then
    share.ends, share.first = deadline, id
  end
  share.length = math.max(share.length, ttl)
  share_put(share, 'k' .. id, string.format('%s %.0f %.0f %.0f %.0f 0 %d', mode, units, token,
    ahead, ttl, doubt))
end
local function share_state(share)
  local text = string.format('%s %.0f %.0f %.0f %.0f %s ', share.kind, share.token, share.used,
    share.earliest, share.ends, share.first)
  if share.kind ~= 'sem' then
    return text .. share.writes
  end
  return text .. string.format('%.0f %.0f %d', share.limit, share.generation, share.kept)
end
local function share_save(share)
  local gone, set = share.gone, share.set
  -- Units must not be lost with the holder: what is written comes before what is removed. And a
  -- removal of nothing before both: without the right to it nothing is done, and a full server
  -- accepts the rest.
  local raises, is_stored = share.kept == 0 and share.length > 0, share.is_stored
  if #gone > 0 then
    redis.call('HDEL', share.key, '')
  elseif #set > 0 and raises and is_stored then
    -- It changes nothing, but is a write that a full server refuses.
    redis.call('SET', share.key, '', 'NX')
  end
  -- Without the right to it nothing is granted or queued, too.
  if raises and is_stored then
    raise_ttl(share.key, share.length)
  end
  if #gone > 0 or #set > 0 then
    share.is_stored = true
    share_put(share, 's', share_state(share))
    redis.call('HSET', share.key, unpack(set))
  elseif share.has_looked then
    redis.pcall('HSET', share.key, 's', share_state(share))
  end
  for i = 1, #gone, 1000 do
    redis.call('HDEL', share.key, unpack(gone, i, math.min(i + 999, #gone)))
  end
  if raises and not is_stored and
    type(redis.pcall('PEXPIRE', share.key, retention(share.length))) == 'table' then
    redis.call('DEL', share.key)
    redis.call('PEXPIRE', share.key, 1)            -- is refused again
  end
  for _, message in ipairs(share.told) do
    local words = message.words
    if message.units then
      words = words .. ' ' .. share.next - share.head .. ' ' .. message.units
    end
    tell(message.client, words .. ' ' .. name)
  end
  share.gone, share.removed, share.set, share.told, share.has_looked = {}, {}, {}, {}, false
end
