-- SPDX-License-Identifier: MIT
--@function no-writes
-- Returns the state of the barrier. Reads only.
-- KEYS 1 the barrier
-- answers {generation, parties (0: none ever arrived), broken 0|1, arrived}
--@include meeting
local meeting = meeting_load(KEYS[1], '')
if not meeting then
  return foreign
end
return { meeting.generation, meeting.parties, meeting.is_broken, meeting.arrived }
