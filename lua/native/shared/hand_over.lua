-- SPDX-License-Identifier: MIT
-- The common hand-off, as end_lease() and grant_next() do it but straight on: the
-- lease is as stored, the first of the queue is a live waiter with an inbox, the prefix has no
-- mark of a cluster or an era guard, and TIME is above all tokens. In every other case nothing
-- is done, and the general pieces follow.
local fields = redis.pcall('HMGET', key, 's', 'h', 'n')
local stored, head, next = fields[1], tonumber(fields[2]), tonumber(fields[3])
local id, last = string.match(stored or '', '^([^:= ]+:%d+:(%d+)) %-?%d+ %d+ %d+ %d$')
if id == ARGV[1] and not string.find(prefix, '{', 1, true) and head and next and head < next then
  local place = 'w' .. head
  local client, ask, ttl, flags, give_up, queued, floor = string.match(
    redis.call('HGET', key, place) or '', '^(%S+) (%d+) (%d+) x([01]) 1 (%d+) (%d+) (%d+)$')
  if client and now > last + 0 and now > floor + 0 and (give_up + 0 == 0 or now <= give_up + 0) then
    local inbox = prefix .. ':inbox:' .. string.sub(client, 1, 22)
    local count = redis.pcall('PUBSUB', 'NUMSUB', inbox)[2]
    if not count or count > 0 then
      local token = #time[2] == 6 and time[1] .. time[2] or string.format('%.0f', now)
      local grant, nonce = client .. ':' .. ask .. ':' .. token, string.sub(queued, 17)
      redis.call('HDEL', key, place, 'c' .. client)
      redis.call('HSET', key, 's', grant .. ' ' .. ttl .. ' ' .. ttl .. ' 0 ' .. flags,
        'h', head + 1)
      local kept = ttl + 0 <= 900000 and 3600000 or 4 * ttl
      if redis.call('PTTL', key) < kept then
        redis.call('PEXPIRE', key, kept)
      end
      redis.pcall('PUBLISH', inbox, 'grant' .. (nonce == '' and ' ' or ':' .. nonce .. ' ') ..
        grant .. ' ' .. ttl .. ' ' .. next - head - 1 .. ' ' .. name)
      return 1
    end
  end
end
