-- SPDX-License-Identifier: MIT
-- A queue entry of a shared resource, taken apart; nil when it is none.
--   waiter     `C K ttl_ms <mode><flags> units give_up_us queued_us floor`
--              flags: 4 it polls and has no inbox
--   tombstone  `x C K until_us`
local function share_entry(text)
  local client, ask, ttl, mode, flags, units, give_up, queued, floor = string.match(text or '',
    '^(%S+) (%d+) (%d+) ([rwp])(%d) (%d+) (%d+) (%d+) (%d+)$')
  if client then
    return { is_waiter = true, text = text, client = client, ask = ask,
      id = client .. ':' .. ask, ttl = ttl + 0, mode = mode, polls = flags >= '4',
      units = units + 0, give_up = give_up + 0, queued = queued, floor = floor + 0 }
  end
  client, ask, give_up = string.match(text or '', '^x (%S+) (%d+) (%d+)$')
  if client then
    return { is_waiter = false, client = client, ask = ask, id = client .. ':' .. ask }
  end
end
