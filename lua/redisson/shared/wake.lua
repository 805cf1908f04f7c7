-- SPDX-License-Identifier: MIT
--@include fair_head
-- Tells those who wait that the lock is free: of a fair lock the head, on a channel of its
-- own; else whoever listens. How many heard it of whom anybody may be next: of a queue nobody.
local function wake(publish, channel, queue, deadlines, now)
  local head = fair_head(queue, deadlines, now)
  local heard = say(publish, head and channel .. ':' .. head or channel, '0')
  return head and 0 or heard
end
