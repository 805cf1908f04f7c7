-- SPDX-License-Identifier: MIT
-- A queue entry, taken apart; nil when it is none of ours.
--   waiter     `C K ttl_ms x<flags> 1 give_up_us queued_us floor`
--   tombstone  `x C K until_us`
-- Flags: 1 it would linger, 4 it polls and has no inbox. Waiters are dead after give_up,
-- tombstones of no use after until; 0: never.
local function read_entry(text)
  local client, ask, ttl, flags, give_up, queued, floor = string.match(text,
    '^(%S+) (%d+) (%d+) x(%d) 1 (%d+) (%d+) (%d+)$')
  if client then
    return { is_waiter = true, text = text, client = client, ask = ask, ttl = ttl, flags = flags,
      polls = flags >= '4', give_up = tonumber(give_up), queued = queued, floor = tonumber(floor) }
  end
  client, ask, give_up = string.match(text, '^x (%S+) (%d+) (%d+)$')
  if client then
    return { is_waiter = false, client = client, ask = ask, give_up = tonumber(give_up) }
  end
end
