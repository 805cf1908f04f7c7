-- SPDX-License-Identifier: MIT
-- The common wait, as contend.lua and enqueue.lua do it but straight on: another client holds
-- the lease and its deadline is not over, `stored` is a string or of a queue without an entry of
-- the caller, TIME is within its bounds, it has an inbox and none of the rarer wishes, and the
-- first of the queue, if there is one, is alive. In every other case nothing is done, and the
-- general pieces follow. Numbers as text: hand_over.lua.
local first, place = '1', '1'
if fields then
  first, place = fields[2], fields[3]
end
local head, next = tonumber(first), tonumber(place)
local floor, nonce, give_up, watched, prefix, name = string.match(ARGV[2],
  '^%d+ %d+ (%d+) %d+ w(%d*) (%d+) (%S+) %d+ (%S+) (.*)$')
local id, owner, granted, ahead, length, renewals, flags = string.match(stored,
  '^(([^:= ]+):%d+:(%d+)) (%-?%d+) (%d+) (%d+) (%d)$')
if id and nonce and head and next and head <= next and owner ~= client and watched ~= id then
  local left, first_give_up = granted + ahead * 1000 - now, '0'
  if head < next then
    first_give_up = string.match(redis.call('HGET', key, 'w' .. first) or '',
      '^%S+ %d+ %d+ x%d 1 (%d+) %d+ %d+$')
  end
  --@include inboxes
  if left >= -1000000 and first_give_up and string.find(place, '^[1-9]%d*$') and
    (first_give_up == '0' or #first_give_up == 16 and digits <= first_give_up) then
    local count = redis.pcall('PUBSUB', numsub, inboxes .. client)[2]
    if count ~= 0 and (count or publish == 'PUBLISH') then
      local ttl, lingers = string.match(ARGV[4], '^ (%d+) %d+ 0 (%d)$')
      local entry = client .. ' ' .. number .. ' ' .. ttl .. ' x' .. lingers .. ' 1 ' ..
        give_up .. ' ' .. digits .. nonce .. ' ' .. floor
      local span = length + 0
      local kept = span <= 900000 and 3600000 or 4 * span
      if value then
        --@may_return inflate
      else
        redis.call('HSET', key, 'n', string.format('%d', next + 1), 'w' .. place, entry,
          'c' .. client, place)
        -- A lease that was granted by TIME in this 100 s has the retention.
        if (ahead ~= length or #granted ~= 16 or
          string.sub(granted, 1, 8) ~= string.sub(digits, 1, 8)) and
          redis.call('PTTL', key) < kept then
          redis.call('PEXPIRE', key, kept)
        end
      end
      if head == next and (value or renewals ~= '0' or flags % 2 == 1) then   -- as in contend.lua
        redis.pcall(publish, inboxes .. string.sub(owner, 1, 22), 'want ' .. id .. ' ' .. name)
      end
      left = math.floor(left / 1000)
      return { 3, now, left < span and left or span, span, id, renewals + 0, next - head }
    end
  end
end
