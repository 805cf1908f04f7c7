-- SPDX-License-Identifier: MIT
-- Tells who holds the lock and who waits. Reads only.
-- KEYS 1 the lock
-- answers {now, held 0|1, lease string or '', remaining ms, length ms, renewals,
--          entries, then for the first 100 waiters: C, K, queued_us as text}
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
--@include load
--@include read_entry
local lease, queue = load(KEYS[1], '')
if not lease then
  return foreign
end
local answer = { now, 0, lease.id, 0, 0, 0, 0 }
if lease.is_held then
  answer[2], answer[5], answer[6] = 1, lease.length, tonumber(lease.renewals)
  answer[4] = math.min(math.floor((lease.deadline - now) / 1000), lease.length)
end
if queue then
  -- Each entry has two fields beside the three of the queue itself. Dead ones are left out
  -- as far as the walk goes.
  local count, shown = (redis.call('HLEN', KEYS[1]) - 3) / 2, 0
  for index = queue.head, math.min(queue.next - 1, queue.head + 999) do
    local text = redis.call('HGET', KEYS[1], 'w' .. index)
    local entry = text and read_entry(text)
    if entry and entry.is_waiter and (entry.give_up == 0 or now <= entry.give_up) then
      if shown < 100 then
        answer[8 + 3 * shown] = entry.client
        answer[9 + 3 * shown] = entry.ask
        answer[10 + 3 * shown] = entry.queued
        shown = shown + 1
      end
    elseif entry then
      count = count - 1
    end
  end
  answer[7] = count
end
return answer
