-- SPDX-License-Identifier: MIT
-- Adds to a number, once, unless a newer fence was seen. Properties S2 S8.
-- KEYS 1, 2 as in shared/guard.lua  3 `<settled> <number>=<result> ...`: unacknowledged sums of
--      C on this key; kept for an hour
-- ARGV 1 to 4 as in shared/guard.lua  5 what to add
-- answers {1, the sum as text}, also to a repetition, whatever was written since; 0, 2 as
--         guarded_set
--@may_return late
local kinds = { none = true, string = true }
local kept, below = '', ARGV[4]
local counted = redis.call('MGET', KEYS[3])[1]
if counted then
  for number, result in string.gmatch(counted, '(%d+)=(%-?%d+)') do
    if number == ARGV[3] then
      return { 1, result }
    end
    if number + 0 >= ARGV[4] + 0 then
      kept = kept .. ' ' .. number .. '=' .. result
    end
  end
  below = string.format('%.0f', math.max(string.match(counted, '^%d+') or 0, ARGV[4]))
  if ARGV[3] + 0 < below + 0 then
    return 2
  end
end
--@may_return guard
-- As in the guard: refused before the sum, as it would count again.
redis.call('GET', KEYS[1])
local left = redis.call('PTTL', KEYS[1])
redis.call('SET', KEYS[3], below .. kept, counted and 'NX' or 'XX')
local done = redis.pcall('INCRBY', KEYS[1], ARGV[5])
if type(done) == 'table' then
  if string.find(done.err, 'not an integer', 1, true) then
    return redis.error_reply('WRONGTYPE this key does not hold a number')
  end
  return done
end
local value = redis.call('GET', KEYS[1])
redis.call('SET', KEYS[3], below .. kept .. ' ' .. ARGV[3] .. '=' .. value, 'PX', 3600000)
remember(math.max(left, -1))
return { 1, value }
