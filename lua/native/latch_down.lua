-- SPDX-License-Identifier: MIT
-- Counts a latch down, once for each id until it is armed anew. Theme 37.
-- Java does not tell when it arms: that there is more than an id has left shows it.
-- KEYS as shared/latch.lua says    ARGV 1 channel  2 by how much  3 id, or ''
-- answers what is left, as text   '-1' it is not armed
--@include latch
local id = ARGV[3] ~= '' and 'i' .. ARGV[3]
local last = redis.call('HGET', KEYS[2], 'v')
if last and left and left + 0 > last + 0 then
  redis.call('DEL', KEYS[2])
  last = nil
end
if id and redis.call('HEXISTS', KEYS[2], id) == 1 then
  return answer(left or '0')
end
if not left then
  return answer('-1')
end
left = redis.call('DECRBY', KEYS[1], ARGV[2])
if left <= 0 then
  left = '0'
  redis.call('DEL', KEYS[1])
  note('z', now)
  tell_channel(channel, '0')
else
  left = redis.call('GET', KEYS[1])
end
if id then
  note(id, '1', 'v', left)
elseif last then
  note('v', left)
end
return answer(left)
