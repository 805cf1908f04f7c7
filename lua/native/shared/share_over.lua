-- SPDX-License-Identifier: MIT
-- Removes holders that were released or are over (doc/design/protocol.md 4). All are checked
-- only if TIME is past `earliest`; then the bounds are corrected.
--@include share_holder
--@include is_past
local function share_remove(share, holder)
  share.used = share.used - holder.units
  if holder.mode == 'w' then
    share.writes = 0
  end
  if share.used == 0 then
    share.earliest, share.ends, share.first = 0, 0, '-'
  end
  share.gone[#share.gone + 1], share.removed[holder.id] = 'k' .. holder.id, true
end
-- Removes those for which `is_over` is true, and finds the first end of the others.
local function share_look(share, is_over)
  local cursor, holders = '0', {}
  repeat
    local page = redis.call('HSCAN', share.key, cursor, 'MATCH', 'k*', 'COUNT', 1000)
    cursor = page[1]
    for i = 1, #page[2], 2 do
      holders[page[2][i]] = page[2][i + 1]
    end
  until cursor == '0'
  share.earliest, share.ends, share.first, share.has_looked = 0, 0, '-', true
  for field, text in pairs(holders) do
    local holder = share_holder(string.sub(field, 2), text)
    if holder and not share.removed[holder.id] then
      if is_over(holder) then
        share_remove(share, holder)
      else
        if holder.flags < 2 and (share.earliest == 0 or holder.deadline < share.earliest) then
          share.earliest = holder.deadline
        end
        if share.ends == 0 or holder.deadline < share.ends or
          holder.deadline == share.ends and holder.id < share.first then
          share.ends, share.first = holder.deadline, holder.id
        end
      end
    end
  end
end
local function share_drop_over(share)
  if doubt == 0 and share.earliest > 0 and now > share.earliest + 1000000 then
    share_look(share, is_past)
  end
end
-- The holder that ends first; nil: none. Requires that all changes are saved.
local function share_first(share)
  if share.used == 0 then
    return nil
  end
  local holder = share_holder(share.first, redis.call('HGET', share.key, 'k' .. share.first))
  if not holder or holder.deadline > share.ends then
    share_look(share, function() return false end)
    share_save(share)
    holder = share_holder(share.first, redis.call('HGET', share.key, 'k' .. share.first))
  end
  return holder
end
