-- SPDX-License-Identifier: MIT
-- The common release with waiters, as share_leave() and share_pump() do it but straight on: the
-- first that does not fit and all before it are live waiters with an inbox, and TIME is above all
-- tokens, all in 16 digits. In every other case nothing is done, and the general pieces follow. As
-- in hand_over.lua times are compared as text.
local mode, units, token = string.match(mine, '^(%l) (%d+) (%d+) ')
local digits = #time[2] == 6 and time[1] .. time[2] or string.format('%.0f', now)
local is_common = token == ARGV[2] and #last == 16 and last < digits and #digits == 16
--@include inboxes
local earliest, ends, first = string.match(bounds, '^(%d+) (%d+) (%S+)$')
local limit = kind == 'sem' and string.match(rest, '^%d+') + 0
used = used - units
if used == 0 then
  earliest, ends, first = '0', '0', '-'
end
if mode == 'w' then
  rest = '0'
end
local place, newest, ttl, is_full = head + 0, last, 0, false
local set, gone, told = {}, { 'k' .. id }, {}
while is_common and not is_full and place < tail + 0 and #told < 64 do
  local text = redis.call('HGET', key, string.format('w%d', place))
  local client, ask, length, wants, count, give_up, queued, floor = string.match(text or '',
    '^(%S+) (%d+) (%d+) (%l)0 (%d+) (%d+) (%d+) (%d+)$')
  local inbox = client and inboxes .. string.sub(client, 1, 22)
  local listening = inbox and redis.pcall('PUBSUB', numsub, inbox)[2]
  if not text then                                 -- it was cancelled
    place = place + 1
  elseif not client or limit and count + 0 > limit or
    floor ~= '0' and (#floor ~= 16 or floor >= digits) or
    give_up ~= '0' and (#give_up ~= 16 or digits > give_up) or
    listening == 0 or not listening and publish ~= 'PUBLISH' then
    is_common = false
  elseif limit and used + count > limit or wants == 'w' and used > 0 then
    break
  else
    local grant, waiter, nonce = now + #told, client .. ':' .. ask, string.sub(queued, 17)
    local deadline = grant + length * 1000
    if earliest == '0' or deadline < earliest + 0 then
      earliest = string.format('%.0f', deadline)
    end
    if ends == '0' or deadline < ends + 0 then
      ends, first = string.format('%.0f', deadline), waiter
    end
    newest, used, ttl = string.format('%.0f', grant), used + count, math.max(ttl, length)
    rest, is_full = wants == 'w' and '1' or rest, wants == 'w' or used == limit
    set[#set + 1] = 'k' .. waiter
    set[#set + 1] = wants .. ' ' .. count .. ' ' .. newest .. ' ' .. length .. ' ' .. length ..
      ' 0 0'
    gone[#gone + 1] = string.format('w%d', place)
    gone[#gone + 1] = 'c' .. waiter
    told[#told + 1] = { inbox, 'share' .. (nonce == '' and ' ' or ':' .. nonce .. ' ') .. waiter ..
      ':' .. newest .. ' ' .. length .. ' ', ' ' .. count .. ' ' .. name }
    place = place + 1
  end
end
if is_common then
  -- The order of share_save().
  redis.call('HDEL', key, '')
  if #told > 0 then
    --@include share_retention
  end
  if place > head + 0 then
    set[#set + 1] = 'h'
    set[#set + 1] = string.format('%d', place)
  end
  redis.call('HSET', key, 's', kind .. ' ' .. newest .. ' ' .. used .. ' ' .. earliest .. ' ' ..
    ends .. ' ' .. first .. ' ' .. rest, unpack(set))
  redis.call('HDEL', key, unpack(gone))
  for _, message in ipairs(told) do
    redis.pcall(publish, message[1], message[2] .. string.format('%d', tail - place) ..
      message[3])
  end
  return 1
end
