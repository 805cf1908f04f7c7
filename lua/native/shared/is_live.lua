-- SPDX-License-Identifier: MIT
-- Whether somebody still stands behind an entry of a queue: not a tombstone, not over, and at
-- his inbox. Who has none is believed until the time that he named.
--@include inbox_of
local function is_live(waiter)
  if not waiter.is_waiter or (waiter.give_up > 0 and now > waiter.give_up) then
    return false
  end
  if waiter.polls then
    return waiter.give_up > 0
  end
  return listens(waiter.client)
end
