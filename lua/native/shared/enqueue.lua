-- SPDX-License-Identifier: MIT
-- Adds the caller to the queue, once; an existing place is kept.
local queued = mine and mine.is_waiter and mine.queued or string.format('%016.0f', now)
local entry = table.concat({ me.client, me.ask, me.ttl, 'x' .. flags % 2 + (polls and 4 or 0), '1',
  give_up, queued .. nonce, string.format('%.0f', me.floor) }, ' ')
-- Of a lease that is over but in doubt, the end of the key is the end at the latest: waits that
-- are too short to watch it do not delay that.
local left = lease.is_held and now > lease.deadline + 1000000 and redis.call('PTTL', key) or -1
if not queue then
  local client, stored = me.client, lease_value(lease)
  local kept = left > 0 and left or retention(math.max(ttl, lease.length or 0))
  --@may_return inflate
  queue = { head = 1, next = 2, mine = 1 }
else
  if mine and mine.is_waiter then
    if entry ~= mine.text then
      redis.call('HSET', key, 'w' .. queue.mine, entry)
    end
  else
    redis.call('HSET', key, 'n', queue.next + 1, 'w' .. queue.next, entry,
      'c' .. me.client, queue.next)
    if mine then
      redis.call('HDEL', key, 'w' .. queue.mine)
    end
    queue.mine, queue.next = queue.next, queue.next + 1
  end
  if left > 0 then
    redis.call('PEXPIRE', key, left)
  else
    raise_ttl(key, math.max(ttl, lease.length or 0))
  end
end
