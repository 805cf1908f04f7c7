-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Ends a broken or open round: its parties learn that it is broken; the next one begins
-- empty. The generation seen before is an argument, so a late copy cannot end a later round.
-- KEYS 1 the barrier    ARGV 1 generation  2 channel
-- answers 1 done   0 nothing to do: no party waits, or that generation is over
--@may_return late
local channel = ARGV[2]
--@include meeting
--@include meeting_write
local meeting = meeting_load(KEYS[1], '')
if not meeting then
  return foreign
end
if meeting.generation ~= ARGV[1] + 0 or (meeting.arrived == 0 and meeting.is_broken == 0) then
  return 0
end
local ended = meeting.generation
meeting_end(meeting)
redis.call('PEXPIRE', KEYS[1], 3600000)
redis.call('HSET', KEYS[1], 's', meeting_text(meeting), 'x' .. string.format('%.0f', ended), 1)
meeting_tell()
return 1
