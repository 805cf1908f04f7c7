-- SPDX-License-Identifier: MIT
-- Counts a latch down, once for each id until it is armed again.
-- KEYS as in shared/latch.lua    ARGV 1 channel  2 amount  3 id, or ''
-- answers the count, as text   '-1' not armed
--@may_return late
--@may_return latch
local id = ARGV[3] ~= '' and 'i' .. ARGV[3]
if least and left and left + 0 > least + 0 then
  forget_ids()
  least = nil
end
if id and redis.call('HEXISTS', KEYS[2], id) == 1 then
  return answer(left or '0')
end
if not left then
  return answer('-1')
end
-- It would count again: what the user may not do after it is refused before, by writes that
-- change nothing.
local is_last = left - ARGV[2] <= 0
if id or least or is_last then
  note('v', least or left)
end
redis.call('SET', KEYS[3], '', 'XX')
if is_last then
  redis.call('DEL', KEYS[3])
end
left = redis.call('DECRBY', KEYS[1], ARGV[2])
if left <= 0 then
  left = '0'
  redis.call('DEL', KEYS[1])
  note('z', now, 'v', left)
  tell_channel(channel, '0')
else
  left = redis.call('GET', KEYS[1])
end
-- Its end is set by the note above.
if id then
  redis.call('HSET', KEYS[2], id, '1', 'v', left)
elseif least then
  redis.call('HSET', KEYS[2], 'v', left)
end
return answer(left)
