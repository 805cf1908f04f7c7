-- SPDX-License-Identifier: MIT
--@function allow-oom
-- A party gives up: this breaks the round that it waits in, or would have waited in.
-- KEYS 1 the barrier    ARGV 1 C:K  2 the generation seen before  3 channel
-- answers {1, generation, arrived, place}  broken by this
--         {2, generation, 0, place}        it had passed: nothing changed
--         {3, generation, arrived, place}  was broken already
--         {0}  no party waits; a late copy of its arrival has no effect
local channel, asked = ARGV[3], ARGV[2] + 0
--@include meeting
--@include meeting_write
local meeting, index = meeting_load(KEYS[1], ARGV[1])
if not meeting then
  return foreign
end
local place
if index then
  local generation
  generation, place = string.match(redis.call('HGET', KEYS[1], 'i' .. index) or '',
    '^%S+ (%d+) (%w+) %d+$')
  place = tonumber(place)
  if not place then
    return { 0 }
  end
  if index < meeting.base then
    if redis.call('HGET', KEYS[1], 'x' .. generation) then
      return { 3, tonumber(generation), 0, place }
    end
    return { 2, tonumber(generation), 0, place }
  end
  if meeting.is_broken == 1 then
    return { 3, meeting.generation, meeting.arrived, place }
  end
  redis.call('PEXPIRE', KEYS[1], 3600000)
else
  if asked < meeting.kept or asked > meeting.generation then
    return { 0 }
  end
  -- Its arrival may still be sent: a place without effect, as a tombstone.
  redis.call('PEXPIRE', KEYS[1], 3600000)
  redis.call('HSET', KEYS[1], 'a' .. ARGV[1], meeting.next, 'i' .. meeting.next,
    string.format('%s %.0f x 0', ARGV[1], meeting.generation))
  meeting.next = meeting.next + 1
  redis.call('HSET', KEYS[1], 's', meeting_text(meeting))
  redis.call('PEXPIRE', KEYS[1], 3600000)
  if asked ~= meeting.generation or meeting.arrived == 0 or meeting.is_broken == 1 then
    return { 0 }
  end
end
meeting_break(meeting)
return { 1, meeting.generation, meeting.arrived, place or 0 }
