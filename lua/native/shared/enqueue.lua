-- SPDX-License-Identifier: MIT
-- Adds the caller to the queue, once; an existing place is kept. The first waiter turns the
-- string into a hash: a write that a full server refuses comes before the removal. While a
-- slot migrates, a cluster node refuses keys that do not exist, even after the script itself
-- removed them: the lease would be lost. So this is tested before, with a key of the same
-- slot that never exists: `-` where the key has the `m` after its prefix. A right that the user
-- lacks takes no lease away either: it is missed before the removal, or the string is put back.
local queued = mine and mine.is_waiter and mine.queued or string.format('%016.0f', now)
local entry = table.concat({ me.client, me.ask, me.ttl, 'x' .. flags % 2 + (polls and 4 or 0), '1',
  give_up, queued .. nonce, string.format('%.0f', me.floor) }, ' ')
-- Of a lease that is over but in doubt, the end of the key is the end at the latest: waits that
-- are too short to watch it do not delay that.
local left = lease.is_held and now > lease.deadline + 1000000 and redis.call('PTTL', key) or -1
if not queue then
  local value, place = lease_value(lease), #string.match(prefix, '^[^{]+') + 2
  local absent = string.sub(key, 1, place - 1) .. '-' .. string.sub(key, place + 1)
  left = left > 0 and left or retention(math.max(ttl, lease.length or 0))
  redis.call('SET', key, value, 'KEEPTTL')
  if type(redis.pcall('PEXPIRE', absent, left)) == 'table' then
    redis.call('PEXPIRE', key, left)               -- or the user has no right to it
    return redis.error_reply('TRYAGAIN the slot of this lock is on its way to another node')
  end
  redis.call('DEL', key)
  local done = redis.pcall('HSET', key, 's', value, 'h', 1, 'n', 2, 'w1', entry,
    'c' .. me.client, 1)
  if type(done) == 'table' then
    redis.call('SET', key, value, 'PX', left)
    return done
  end
  queue = { head = 1, next = 2, mine = 1 }
elseif mine and mine.is_waiter then
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
