-- SPDX-License-Identifier: MIT
-- The common hand-off, as end_lease() and grant_next() do it but straight on: the lease is the
-- stored one, `fields` are those of its hash, the first of the queue is a live waiter with an
-- inbox, and TIME is above all tokens, all in 16 digits, as times have since 2001. In every other
-- case nothing is done, and the general pieces follow. A time is compared as text, and a count
-- formatted by `%d`: both cost a third of what a number does.
local head, next = tonumber(fields[2]), tonumber(fields[3])
local last = string.match(ARGV[1], '^:(%d+)$', -17)
if last and head and next and head < next then
  local place = 'w' .. fields[2]
  local client, ask, ttl, flags, give_up, queued, floor = string.match(
    redis.call('HGET', key, place) or '', '^(%S+) (%d+) (%d+) x([01]) 1 (%d+) (%d+) (%d+)$')
  local digits = #time[2] == 6 and time[1] .. time[2] or string.format('%.0f', now)
  if client and last < digits and
    (floor == '0' or #floor == 16 and floor < digits) and
    (give_up == '0' or #give_up == 16 and digits <= give_up) then
    --@include inboxes
    local inbox = inboxes .. string.sub(client, 1, 22)
    local count = redis.pcall('PUBSUB', numsub, inbox)[2]
    if count ~= 0 and (count or publish == 'PUBLISH') then
      local grant, nonce = client .. ':' .. ask .. ':' .. digits, string.sub(queued, 17)
      redis.call('HDEL', key, place, 'c' .. client)
      redis.call('HSET', key, 's', grant .. ' ' .. ttl .. ' ' .. ttl .. ' 0 ' .. flags,
        'h', string.format('%d', head + 1))
      -- The lease before was granted for as long, by TIME, in the same 100 s: with the retention.
      if ahead ~= ttl or length ~= ttl or string.sub(last, 1, 8) ~= string.sub(digits, 1, 8) then
        local kept = ttl + 0 <= 900000 and 3600000 or 4 * ttl
        if redis.call('PTTL', key) < kept then
          redis.call('PEXPIRE', key, kept)
        end
      end
      redis.pcall(publish, inbox, 'grant' .. (nonce == '' and ' ' or ':' .. nonce .. ' ') ..
        grant .. ' ' .. ttl .. ' ' .. string.format('%d', next - head - 1) .. ' ' .. name)
      return 1
    end
  end
end
