-- SPDX-License-Identifier: MIT
--@function no-writes
-- Returns the holders and waiters of a lock, a read/write lock or permits. Reads only. A
-- lease counts while a try by a client that has not watched it would be refused.
-- KEYS 1 the name    ARGV 1 prefix  2 the caller doubts the clock of this server: nothing is
--                         over by its deadline (absent: it does not)
-- answers {now, kind 0 lock|1 read/write lock|2 semaphore, last token, limit, units used,
--          generation, holders, waiters, holders shown,
--          then for the first 100 holders by token: lease, mode, units, remaining ms,
--          length ms, renewals,
--          then for the first 100 waiters: C, K, queued_us as text, mode, units}
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
--@include load
--@include read_entry
local key, prefix = KEYS[1], ARGV[1]
--@include inbox_of
--@include may_wait
--@include is_past
local function is_over(lease)
  return not ARGV[2] and is_past(lease)
end
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
-- `count`: the entries of the queue. Of the first 1000 places those count that grant_next
-- would serve; of later ones all. One call asks for all inboxes, so a user without the right
-- to ask is refused once.
local function add_waiters(queue, count, read)
  local entries, inboxes, shown, is_sharded = {}, {}, 0, nil
  for index = queue.head, math.min(queue.next - 1, queue.head + 999) do
    local text = redis.call('HGET', key, 'w' .. index)
    local entry = text and read(text)
    if entry and may_wait(entry) then
      entries[#entries + 1] = entry
      if not entry.polls then
        inboxes[#inboxes + 1], is_sharded = inbox_of(entry.client)
        entry.count_at = 2 * #inboxes
      end
    elseif entry then
      count = count - 1
    end
  end
  local counts = #inboxes > 0 and subscribers(is_sharded, unpack(inboxes)) or {}
  for _, entry in ipairs(entries) do
    if entry.count_at and counts[entry.count_at] == 0 then
      count = count - 1
    elseif shown < 100 then
      add(entry.client, entry.ask, entry.queued, entry.mode or 'x', entry.units or 1)
      shown = shown + 1
    end
  end
  answer[8] = count
end
local lease, queue = load(key, '')
if not lease then
  --@tail inspect_share
end
answer[3] = lease.token
if lease.is_held and not is_over(lease) then
  answer[5], answer[7] = 1, 1
  add_holder(lease.id, 'x', 1, lease.deadline, lease.length, lease.renewals)
end
if queue then
  add_waiters(queue, (redis.call('HLEN', key) - 3) / 2, read_entry)
end
return answer
