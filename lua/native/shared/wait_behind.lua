-- SPDX-License-Identifier: MIT
-- The common wait, as contend.lua and enqueue.lua do it but straight on: another client holds
-- the lease and its deadline is not over, `fields` are of a queue without an entry of the
-- caller, the caller has an inbox and none of the rarer wishes, and the first of the queue, if
-- there is one, is alive. In every other case nothing is done, and the general pieces follow.
local stored, head, next = fields[1], tonumber(fields[2]), tonumber(fields[3])
local nonce, give_up, watched, prefix, name = string.match(ARGV[7],
  '^w(%d*) (%d+) (%S+) %d+ ([^%s{]+) (.*)$')
local id, client, granted, ahead, length, renewals = string.match(stored,
  '^(([^:= ]+):%d+:(%d+)) (%-?%d+) (%d+) (%d+) %d$')
if id and nonce and head and next and head <= next and client ~= ARGV[1] and watched ~= id then
  local left, first_give_up = granted + ahead * 1000 - now, '0'
  if head < next then
    first_give_up = string.match(redis.call('HGET', key, 'w' .. head) or '',
      '^%S+ %d+ %d+ x%d 1 (%d+) %d+ %d+$')
  end
  local inboxes = prefix .. ':inbox:'
  if left >= -1000000 and first_give_up and
    (first_give_up + 0 == 0 or now <= first_give_up + 0) then
    local count = redis.pcall('PUBSUB', 'NUMSUB', inboxes .. string.sub(ARGV[1], 1, 22))[2]
    if not count or count > 0 then
      local queued = #time[2] == 6 and #time[1] == 10 and time[1] .. time[2] or
        string.format('%016.0f', now)
      redis.call('HSET', key, 'n', next + 1, 'w' .. next, ARGV[1] .. ' ' .. ARGV[2] .. ' ' ..
        ARGV[3] .. (ARGV[8] == '1' and ' x1 1 ' or ' x0 1 ') .. give_up .. ' ' .. queued ..
        nonce .. ' ' .. ARGV[5], 'c' .. ARGV[1], next)
      length = length + 0
      local longest = ttl > length and ttl or length
      local kept = longest <= 900000 and 3600000 or 4 * longest
      if redis.call('PTTL', key) < kept then
        redis.call('PEXPIRE', key, kept)
      end
      if head == next then
        redis.pcall('PUBLISH', inboxes .. string.sub(client, 1, 22), 'want ' .. id .. ' ' .. name)
      end
      left = math.floor(left / 1000)
      return { 3, now, left < length and left or length, length, id, renewals + 0, next - head }
    end
  end
end
