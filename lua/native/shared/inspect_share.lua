-- SPDX-License-Identifier: MIT
-- The part of inspect for a read/write lock or a semaphore. Returns the reply.
--@include share_load
--@include share_holder
--@include share_entry
local share = share_load(key)
if share.kind == 'lock' or share.kind == 'other' then
  return foreign
end
local cursor, holders, seen, count = '0', {}, {}, 0
repeat
  local page = redis.call('HSCAN', key, cursor, 'MATCH', 'k*', 'COUNT', 1000)
  cursor = page[1]
  for i = 1, #page[2], 2 do
    local holder = share_holder(string.sub(page[2][i], 2), page[2][i + 1])
    if holder and not seen[holder.id] then
      seen[holder.id], count = true, count + 1
      if is_over(holder) then
        share.used = share.used - holder.units
      else
        holders[#holders + 1] = holder
      end
    end
  end
until cursor == '0'
table.sort(holders, function(a, b) return a.token < b.token end)
answer[2], answer[3], answer[4] = share.kind == 'sem' and 2 or 1, share.token, share.limit
answer[5], answer[6], answer[7] = share.used, share.generation, #holders
for i = 1, math.min(#holders, 100) do
  local holder = holders[i]
  add_holder(holder.lease, holder.mode, holder.units, holder.deadline, holder.length,
    holder.renewals)
end
local fields = 1 + (share.has_queue and 2 or 0) + count
add_waiters(share, (redis.call('HLEN', key) - fields) / 2, share_entry)
return answer
