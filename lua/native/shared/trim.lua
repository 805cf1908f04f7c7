-- SPDX-License-Identifier: MIT
-- Drops dead entries at the head, so that rank 0 is the first live waiter.
local first = queue.head
while queue.head < queue.mine and queue.head - first < 1000 do
  local text = redis.call('HGET', key, 'w' .. queue.head)
  local other = text and read_entry(text)
  if other and other.is_waiter and (other.give_up == 0 or now <= other.give_up) then
    break
  end
  if other then
    redis.call('HDEL', key, 'w' .. queue.head, 'c' .. other.client)
  end
  queue.head = queue.head + 1
end
if queue.head > first then
  redis.call('HSET', key, 'h', queue.head)
end
