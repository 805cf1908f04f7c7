-- SPDX-License-Identifier: MIT
-- Makes the set the owner of `member`, which it has or which is free, with a token above
-- `last`. The first write of each member is one that a full server refuses.
local function take(member, last)
  local value, _, token = new_lease(owner, me.ttl, flags, last, floor)
  local queue = member.queue
  if queue and (member.is_mine or member.next) then
    redis.call('HSET', member.key, 's', value)
    if queue.mine then
      redis.call('HDEL', member.key, 'w' .. queue.mine, 'c' .. me.client)
    end
    raise_ttl(member.key, ttl)
  else
    redis.call('SET', member.key, value, 'PX', retention(ttl))
  end
  return token
end
-- A member that is kept while the set waits for another gets the whole ttl again.
local function lengthen(member)
  local value, length = longer_lease(member.lease, ttl)
  if member.queue then
    redis.call('HSET', member.key, 's', value)
  else
    redis.call('SET', member.key, value, 'KEEPTTL')
  end
  raise_ttl(member.key, length)
end
