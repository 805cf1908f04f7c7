-- SPDX-License-Identifier: MIT
-- Ends the ask `id`: removes its holder and queue entry, grants to the next waiters, and may
-- add a tombstone at the end of the queue, where it blocks no waiter. A full server accepts
-- all this, except a tombstone as the only write.
--@include share_grant
--@include share_over
--@include share_pump
local function share_entomb(share)
  local client, ask = string.match(id, '^(.+):(%d+)$')
  share_put(share, 'w' .. share.next, string.format('x %s %s %.0f', client, ask, until_us))
  share_put(share, 'c' .. id, share.next)
  share.next = share.next + 1
  share_put(share, 'h', share.head)
  share_put(share, 'n', share.next)
end
local function share_leave(share, holder, place, leaves_tombstone)
  if place then
    redis.call('HDEL', share.key, 'w' .. place, 'c' .. id)
  end
  if holder then
    share_remove(share, holder)
  end
  if share.head < share.next then
    share_pump(share)
  end
  local must_save = place or #share.gone > 0 or #share.set > 0
  local buries = leaves_tombstone and (until_us == 0 or now <= until_us)
  if share.kind == 'none' then
    share.kind = 'new'
  end
  if buries then
    share_entomb(share)
  end
  if must_save then
    share_save(share)
  elseif buries then
    share_put(share, 's', share_state(share))
    buries = type(redis.pcall('HSET', share.key, unpack(share.set))) == 'number'
  end
  if buries and share.kind == 'new' then
    -- The name is new: it may become anything after the tombstone has expired.
    local left = until_us == 0 and 60000 or math.ceil((until_us - now) / 1000) + 1000
    redis.call('PEXPIRE', share.key, math.max(left, redis.call('PTTL', share.key)))
  end
end
