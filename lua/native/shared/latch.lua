-- SPDX-License-Identifier: MIT
-- The beginning of each script that changes a latch.
-- KEYS 1 the count, as Redisson stores it  2 a hash, kept for a day: i<id> counted, `v` the count
--      after that, or less if a later request found less, `z` when zero was reached last, `d` when
--      it was deleted
--      3 the reply to this request, kept for a minute
local told = redis.call('GET', KEYS[3])
if told then
  return told
end
local channel = ARGV[1]
--@include tell_channel
--@may_return latch_count
if left and not string.find(left, '^%-?%d+$') then
  return foreign
end
if left and left + 0 <= 0 then
  left = nil
end
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000000 + time[2])
local function note(...)
  redis.call('HSET', KEYS[2], ...)
  redis.call('PEXPIRE', KEYS[2], 86400000)
end
local function answer(text)
  redis.call('SET', KEYS[3], text, 'PX', 60000)
  return text
end
-- Redisson does not report that it arms a latch: a count above the least one that was found
-- shows it. Then all ids count again; that a client of dibs reached zero stays known.
local least = redis.call('HGET', KEYS[2], 'v')
if least and (left or 0) + 0 < least + 0 then
  least = left or '0'
  redis.pcall('HSET', KEYS[2], 'v', least)
end
-- `...`: what is noted besides. It is written before the removal, too: a user without the right to
-- that is refused with nothing removed.
local function forget_ids(...)
  local fields, zeroed = { ... }, redis.call('HGET', KEYS[2], 'z')
  if zeroed then
    fields[#fields + 1], fields[#fields + 2] = 'z', zeroed
  end
  if #fields > 0 then
    note(unpack(fields))
  end
  redis.call('DEL', KEYS[2])
  if #fields > 0 then
    note(unpack(fields))
  end
end
-- Before the first change: what this user may not do is refused by commands that change nothing.
local function may_change()
  redis.call('SET', KEYS[3], '', 'XX')
  redis.call('DEL', KEYS[3])
  redis.call('PEXPIRE', KEYS[3], 60000)
end
