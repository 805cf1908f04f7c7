-- SPDX-License-Identifier: MIT
-- The common wait, as share_contend.lua does it but straight on: a new ask by message, without a
-- lease that was watched, does not fit, or comes after a live waiter that does not; no holder is
-- over. In every other case nothing is done, and the general pieces follow.
local most = string.match(rest, '^%d+')
local nonce, give_up, prefix, name
-- `ends` is no later than `earliest`.
if (kind == 'sem') == (mode == 'p') and now <= ends + 1000000 and
  (mode ~= 'p' or units <= most + 0 and (limit == '' or limit == most)) then
  nonce, give_up, prefix, name = string.match(ARGV[8], '^w(%d*) (%d+) %- %d+ (%S+) (.*)$')
end
local fields = nonce and redis.call('HMGET', KEYS[1], 'c' .. id, 'k' .. first, 'w' .. (head or ''))
local waits = false
if fields and not fields[1] then
  --@include inboxes
  -- The first of the queue, or the caller where there is none, must not fit.
  local wants, count, until_then, ahead_of, client = mode, units, '0', {}, nil
  if head ~= tail then
    client, wants, count, until_then = string.match(fields[3] or '',
      '^(%S+) %d+ %d+ (%l)0 (%d+) (%d+) ')
    ahead_of[1] = client and inboxes .. string.sub(client, 1, 22)
  end
  if (wants == 'w' or wants == 'r' and rest == '1' or
    wants == 'p' and used + count > most + 0) and
    (until_then == '0' or #until_then == 16 and digits <= until_then) then
    local listening = redis.pcall('PUBSUB', numsub, inboxes .. string.sub(ARGV[1], 1, 22),
      unpack(ahead_of))
    waits = listening[2] ~= 0 and listening[4] ~= 0 and (listening[2] or publish == 'PUBLISH')
  end
end
if waits then
  local token, ahead, length, renewals = string.match(fields[2] or '',
    '^%l %d+ (%d+) (%-?%d+) (%d+) (%d+) %d$')
  local deadline, state = token and token + ahead * 1000, nil
  if not token or deadline > ends + 0 then
    -- That one has left or was renewed: as share_look() does.
    local page, soonest = redis.call('HSCAN', KEYS[1], '0', 'MATCH', 'k*', 'COUNT', 1000), 0
    deadline, token = nil, nil
    for i = 1, page[1] == '0' and #page[2] or 0, 2 do
      local t, a, l, r, flags = string.match(page[2][i + 1],
        '^%l %d+ (%d+) (%-?%d+) (%d+) (%d+) (%d)$')
      local ending = t + a * 1000
      if flags < '2' and (soonest == 0 or ending < soonest) then
        soonest = ending
      end
      local holder = string.sub(page[2][i], 2)
      if not deadline or ending < deadline or ending == deadline and holder < first then
        deadline, first, token, length, renewals = ending, holder, t, l, r
      end
    end
    state = deadline and kind .. ' ' .. last .. ' ' .. used .. ' ' ..
      string.format('%.0f %.0f ', soonest, deadline) .. first .. ' ' .. rest
  end
  if token then
    local place = tail or '1'
    --@include share_retention
    redis.call('HSET', KEYS[1], 'c' .. id, place, 'h', head or '1',
      'n', string.format('%d', place + 1), 's', state or value, 'w' .. place,
      ARGV[1] .. ' ' .. ARGV[2] .. ' ' .. ARGV[3] .. ' ' .. mode .. '0 ' .. units .. ' ' ..
      give_up .. ' ' .. digits .. nonce .. ' ' .. ARGV[5])
    return { 3, now, math.min(math.floor((deadline - now) / 1000), length + 0), length + 0,
      first .. ':' .. token, renewals + 0, place - (head or 1), last + 0 }
  end
end
