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
-- Other programs may have written anything: what is no number, or too long for the client, is nil.
local function number_of(text, pattern)
  return text and #text < 19 and string.find(text, pattern) and tonumber(text)
end
local answer = { time[1] * 1000000 + time[2], number_of(redis.call('GET', KEYS[3]), '^%d+$') or 0,
  redis.call('PTTL', key), redis.call('LLEN', KEYS[2]), 0, 0, 0, 0 }
local owner = ''
if redis.call('TYPE', key).ok == 'string' then
  local from = '(' .. string.format('%.0f', now_ms)
  local held = redis.call('ZCOUNT', KEYS[4], from, '+inf')
  answer[5], answer[7] = held, 2
  answer[8] = (number_of(redis.call('GET', key), '^%-?%d+$') or 0) +
    redis.call('ZCARD', KEYS[4]) - held
  list = redis.call('ZRANGEBYSCORE', KEYS[4], from, '+inf', 'WITHSCORES', 'LIMIT', 0, 100)
else
  -- Not HGETALL: it may be a map of the program, of any size.
  list = redis.call('HSCAN', key, 0, 'COUNT', 100)[2]
  answer[5] = redis.call('HLEN', key)
  owner = ':%-?%d+'                        -- Java's thread ids are signed
  if redis.call('HEXISTS', key, 'mode') == 1 then      -- it may be in a later page
    answer[5], answer[7] = answer[5] - 1, 1
  end
end
for i = 1, #list, 2 do
  local is_mode = answer[7] == 1 and list[i] == 'mode'
  if not is_mode and
     not (string.find(list[i], owner) and number_of(list[i + 1], '^%d+$')) then
    return redis.error_reply('WRONGTYPE this key does not hold a lock of Redisson')
  end
  if not is_mode and shown < 100 then
    shown = shown + 1
    answer[#answer + 1], answer[#answer + 2] = list[i], list[i + 1]
  end
end
answer[6] = shown
for _, word in ipairs(redis.call('LRANGE', KEYS[2], 0, 99)) do
  answer[#answer + 1] = word
end
return answer
