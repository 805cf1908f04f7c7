-- SPDX-License-Identifier: MIT
--@function no-writes
-- Returns the leader. Reads only.
-- KEYS 1 the lock  2 the election
-- answers {now, state, last lease string or '', remaining ms, length ms, renewals, fence, value}
--         state 0 no lease, 1 a lease, 2 a lease, but its leader has resigned;
--         fence of the last publication ('': none), and its value if it belongs to this lease,
--         else ''
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
