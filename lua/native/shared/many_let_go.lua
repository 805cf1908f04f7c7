-- SPDX-License-Identifier: MIT
-- Handles one member of a set whose member number `busy` has another holder. Its queue entry
-- is removed, unless the set waits there; its lease passes to the next waiter, unless the
-- set keeps members before the busy one; an overdue lease passes to the next waiter.
key, name = member.key, member.name
local queue, lease = member.queue, member.lease
local is_kept = keeps == '1' and waits and not is_deaf and i < busy
if queue and queue.mine and not is_kept and (i ~= busy or not waits) then
  begin_writing()
  redis.call('HDEL', key, 'w' .. queue.mine, 'c' .. me.client)
  queue.mine, member.entry = nil, nil
  member.next = member.is_free and next_in(queue) or nil
end
if is_kept then
  begin_writing()
  if member.is_mine then
    lengthen(member)
  else
    take(member, lease.token)
  end
elseif member.next and member.next ~= queue.mine then
  begin_writing()
  member.lease = grant_next(queue, lease.token)
  was_granted = was_granted or i == busy
elseif i ~= busy and (member.is_mine or member.is_stale) then
  -- The ask continues: the previous number is stored as ended.
  begin_writing()
  end_lease(queue, lease.token, string.format('%s:%.0f:%.0f', me.client, ask - 1, lease.token))
elseif i ~= busy and member.is_free and lease.is_held and watched == lease.id then
  -- The next request may have watched another lease, and no longer know this one.
  begin_writing()
  end_lease(queue, lease.token, lease.id)
end
