-- SPDX-License-Identifier: MIT
--@function no-writes
-- Who leads. Reads only.
-- KEYS 1 the lock  2 the election
-- answers {now, state, last lease string or '', remaining ms, length ms, renewals, fence, value}
--         state 0 nobody has the lease, 1 somebody has, 2 so, and its leader has gone already;
--         fence of the last leader that told ('': none did), and its value if this lease is
--         its own, else ''
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
--@include load
local lease = load(KEYS[1], '')
if not lease then
  return foreign
end
local last = redis.call('HMGET', KEYS[2], 'f', 'l', 'n', 'v')
local is_told = last[2] == lease.id
local answer = { now, 0, lease.id, 0, 0, 0, last[1] or '',
  is_told and last[4] or '' }
if lease.is_held then
  answer[2] = is_told and last[3] == '-' and 2 or 1
  answer[4] = math.min(math.floor((lease.deadline - now) / 1000), lease.length)
  answer[5], answer[6] = lease.length, tonumber(lease.renewals)
end
return answer
