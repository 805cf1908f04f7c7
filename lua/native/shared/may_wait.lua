-- SPDX-License-Identifier: MIT
-- Whether a queue entry by itself is a waiter: no tombstone, and not past its limit, which
-- an entry without an inbox must have.
local function may_wait(entry)
  if not entry.is_waiter then
    return false
  end
  if entry.give_up == 0 then
    return not entry.polls
  end
  return now <= entry.give_up
end
