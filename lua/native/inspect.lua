-- SPDX-License-Identifier: MIT
--@function no-writes
-- Tells who holds a lock, a read/write lock or permits, and who waits. Reads only.
-- KEYS 1 the name
-- answers {now, kind 0 lock|1 read/write lock|2 semaphore, last token, limit, units used,
--          generation, holders, waiters, holders shown,
--          then for the first 100 holders by token: lease, mode, units, remaining ms,
--          length ms, renewals,
--          then for the first 100 waiters: C, K, queued_us as text, mode, units}
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
--@include load
--@include read_entry
local answer = { now, 0, 0, 0, 0, 0, 0, 0, 0 }
local function add(...)
  for i = 1, select('#', ...) do
    answer[#answer + 1] = (select(i, ...))
  end
end
local function add_holder(lease, mode, units, deadline, length, renewals)
  local remaining = math.min(math.floor((deadline - now) / 1000), length)
  answer[9] = answer[9] + 1
  add(lease, mode, units, remaining, length, renewals + 0)
end
-- Each entry has two fields, `count` are there. Dead ones are left out as far as the walk goes.
local function add_waiters(queue, count, read)
  local shown = 0
  for index = queue.head, math.min(queue.next - 1, queue.head + 999) do
    local text = redis.call('HGET', KEYS[1], 'w' .. index)
    local entry = text and read(text)
    if entry and entry.is_waiter and (entry.give_up == 0 or now <= entry.give_up) then
      if shown < 100 then
        add(entry.client, entry.ask, entry.queued, entry.mode or 'x', entry.units or 1)
        shown = shown + 1
      end
    elseif entry then
      count = count - 1
    end
  end
  answer[8] = count
end
local lease, queue = load(KEYS[1], '')
if not lease then
  --@include inspect_share
end
answer[3] = lease.token
if lease.is_held then
  answer[5], answer[7] = 1, 1
  add_holder(lease.id, 'x', 1, lease.deadline, lease.length, lease.renewals)
end
if queue then
  add_waiters(queue, (redis.call('HLEN', KEYS[1]) - 3) / 2, read_entry)
end
return answer
