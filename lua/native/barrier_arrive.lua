-- SPDX-License-Identifier: MIT
--@function allow-oom
-- A party arrives, or repeats its arrival. doc/design/protocol.md 12.
-- KEYS 1 the barrier
-- ARGV 1 C:K  2 parties  3 the generation seen before  4 ms that it may be silent
--      5 channel
-- answers {1 waiting, generation, arrived, place, ms until a party may be missing}
--         {2 passed, generation, parties, place}  {3 broken, generation, arrived, place}
--         {4 another number of parties, parties}
--         {5 too late: the generation is forgotten, or the party gave up}
--@may_return late
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local parties, asked, silence = ARGV[2] + 0, ARGV[3] + 0, ARGV[4] * 1000
local channel = ARGV[5]
--@include meeting
--@include meeting_write
--@include meeting_sweep
local meeting, index = meeting_load(KEYS[1], ARGV[1])
if not meeting then
  return foreign
end
local function answer(code, place)
  return { code, meeting.generation, meeting.arrived, place or 0,
    math.max(1, math.ceil((meeting.earliest - now) / 1000) + 1) }
end

if index then
  local generation, place = string.match(redis.call('HGET', KEYS[1], 'i' .. index) or '',
    '^%S+ (%d+) (%w+) %d+$')
  if not tonumber(place) then
    return { 5 }
  end
  generation, place = tonumber(generation), tonumber(place)
  if index < meeting.base then
    if redis.call('HGET', KEYS[1], 'x' .. generation) then
      return { 3, generation, 0, place }
    end
    return { 2, generation, parties, place }
  end
  if meeting.is_broken == 1 then
    return answer(3, place)
  end
  redis.call('PEXPIRE', KEYS[1], 3600000)
  redis.call('HSET', KEYS[1], 'i' .. index,
    string.format('%s %.0f %.0f %.0f', ARGV[1], generation, place, now + silence))
  if sweep(meeting) then
    return answer(3, place)
  end
  return answer(1, place)
end

-- A later generation is known to the party: the server has lost its data since.
if asked > meeting.generation then
  return { 3, asked, 0, 0 }
end
if asked < meeting.kept then
  return { 5 }
end
-- The party saw a round that a reset has ended: this may be a late copy.
if asked < meeting.generation and
  redis.call('HGET', KEYS[1], 'x' .. string.format('%.0f', asked)) then
  return { 3, asked, 0, 0 }
end
if meeting.is_broken == 1 or sweep(meeting) then
  return answer(3)
end
if meeting.arrived > 0 and meeting.parties ~= parties then
  return { 4, meeting.parties }
end
local before, place, generation = meeting_text(meeting), meeting.arrived, meeting.generation
index, meeting.next = meeting.next, meeting.next + 1
meeting.parties, meeting.arrived = parties, place + 1
if place == 0 then
  meeting.earliest = now + silence
end
meeting.earliest = math.min(meeting.earliest, now + silence)
local is_last = meeting.arrived == parties
if is_last then
  meeting_end(meeting)
end
-- One write: a full server refuses it completely.
redis.call('HSET', KEYS[1], 's', meeting_text(meeting), 'a' .. ARGV[1], index, 'i' .. index,
  string.format('%s %.0f %.0f %.0f', ARGV[1], generation, place, now + silence))
local done = redis.pcall('PEXPIRE', KEYS[1], 3600000)
if type(done) == 'table' then             -- no right to it: refused, and not counted
  if index == 1 then
    redis.call('DEL', KEYS[1])
  else
    redis.call('HDEL', KEYS[1], 'a' .. ARGV[1], 'i' .. index)
    redis.call('HSET', KEYS[1], 's', before)
  end
  return done
end
local first = meeting.first
meeting_forget(meeting)
if meeting.first > first then
  redis.call('HSET', KEYS[1], 's', meeting_text(meeting))
end
if is_last then
  meeting_tell()
  return { 2, generation, parties, place }
end
return answer(1, place)
