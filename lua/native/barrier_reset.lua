-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Ends a meeting that is broken or under way: whoever waits in it learns that it is broken,
-- the next one begins empty. It names the generation that was looked at, so that a
-- copy that comes late does not hit a later one.
-- KEYS 1 the barrier    ARGV 1 generation  2 channel
-- answers 1 done   0 nothing to mend: nobody waits, or that generation is over
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
