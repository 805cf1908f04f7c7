-- SPDX-License-Identifier: MIT
--@function no-writes
-- Returns the holders of a lock, a read/write lock or permits of Redisson; and the waiters,
-- as far as the format has them.
-- KEYS 1 the lock or semaphore  2 fair: the queue  3 fenced: the token
--      4 ids of permits, by their ends
-- answers {now, last token, remaining ms, waiters, holders, shown holders, kind, free permits,
--         then the holders shown, then waiters}; kind 0 lock, 1 read/write lock, 2 semaphore.
--         A holder is {owner as stored, holds}, of permits {id, end}; a waiter is its owner
local time = redis.call('TIME')
local now_ms = math.floor(time[1] * 1000 + time[2] / 1000)
local key, shown, list = KEYS[1], 0, {}
local answer = { time[1] * 1000000 + time[2], tonumber(redis.call('GET', KEYS[3]) or 0),
  redis.call('PTTL', key), redis.call('LLEN', KEYS[2]), 0, 0, 0, 0 }
if redis.call('TYPE', key).ok == 'string' then
  local from = '(' .. string.format('%.0f', now_ms)
  local held = redis.call('ZCOUNT', KEYS[4], from, '+inf')
  answer[5], answer[7] = held, 2
  answer[8] = tonumber(redis.call('GET', key) or 0) or 0
  answer[8] = answer[8] + redis.call('ZCARD', KEYS[4]) - held
  list = redis.call('ZRANGEBYSCORE', KEYS[4], from, '+inf', 'WITHSCORES', 'LIMIT', 0, 100)
else
  -- Not HGETALL: it may be a map of the program, of any size.
  list = redis.call('HSCAN', key, 0, 'COUNT', 100)[2]
  answer[5] = redis.call('HLEN', key)
  for i = 1, #list, 2 do
    if list[i] ~= 'mode' and
       not (string.find(list[i], ':%d+') and string.find(list[i + 1], '^%d+$')) then
      return redis.error_reply('WRONGTYPE this key does not hold a lock of Redisson')
    end
  end
end
for i = 1, #list, 2 do
  if answer[7] < 2 and list[i] == 'mode' then
    answer[5], answer[7] = answer[5] - 1, 1
  elseif shown < 100 then
    shown = shown + 1
    answer[#answer + 1], answer[#answer + 2] = list[i], list[i + 1]
  end
end
answer[6] = shown
for _, word in ipairs(redis.call('LRANGE', KEYS[2], 0, 99)) do
  answer[#answer + 1] = word
end
return answer
