-- SPDX-License-Identifier: MIT
-- Makes the first live waiter the owner and notifies it; returns its lease, or nil: no
-- waiter. `me`, the caller if it may be in the queue, learns it from the reply only.
-- Removals first, then the lease, then the message: a script is not rolled back. After 1000
-- dead entries a lease of 1 s without client is set, so that the next poll continues.
-- `doubt` is 2 if the caller's clock disagrees with this one: then the new deadline is in
-- doubt, too. Works on the lock under `key`, called `name`.
--@include read_entry
--@include is_live
--@include raise_ttl
local function grant_next(queue, last, me)
  local winner
  local first = queue.head
  while not winner and queue.head < queue.next do
    if queue.head - first == 1000 then
      winner = { client = '......................', ask = '0', ttl = '1000', flags = '0',
        floor = 0, is_nobody = true }
      break
    end
    local entry = redis.call('HGET', key, 'w' .. queue.head)
    local waiter = entry and read_entry(entry)
    if waiter then
      redis.call('HDEL', key, 'w' .. queue.head, 'c' .. waiter.client)
      if me and waiter.is_waiter and waiter.client == me.client then
        winner = me
      elseif is_live(waiter) then
        winner = waiter
      end
    end
    queue.head = queue.head + 1
  end
  if not winner then
    return nil
  end
  local value, id = new_lease(winner.client .. ':' .. winner.ask, winner.ttl,
    winner.flags % 2 + doubt, last, winner.floor)
  redis.call('HSET', key, 's', value, 'h', queue.head)
  raise_ttl(key, tonumber(winner.ttl))
  if winner ~= me and not winner.is_nobody and not winner.polls then
    tell(winner.client, 'grant' .. proof_of(winner.nonce) .. id .. ' ' .. winner.ttl .. ' ' ..
      queue.next - queue.head .. ' ' .. name)
  end
  return read_value(value)
end
