-- SPDX-License-Identifier: MIT
--@include fair_head
-- Notifies waiters that the lock is free: of a fair lock the head, on its own channel; else
-- all subscribers. Returns the number of receivers that may be the next holder: 0 with a
-- queue.
local function wake(publish, channel, queue, deadlines, now)
  local head = fair_head(queue, deadlines, now)
  local heard = say(publish, head and channel .. ':' .. head or channel, '0')
  return head and 0 or heard
end
