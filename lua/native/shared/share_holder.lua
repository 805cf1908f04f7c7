-- SPDX-License-Identifier: MIT
-- Reads a holder of a shared name; nil: none.
--   `mode units T ahead length renewals flags`   the deadline is T + ahead (ms)
-- Modes: r reads, w writes, p has permits. Flags: 2 in doubt.
local function share_holder(id, text)
  local mode, units, token, ahead, length, renewals, flags = string.match(text or '',
    '^([rwp]) (%d+) (%d+) (%-?%d+) (%d+) (%d+) (%d)$')
  if mode then
    return { id = id, lease = id .. ':' .. token, mode = mode, units = units + 0,
      token = token + 0, deadline = token + ahead * 1000, length = length + 0,
      renewals = renewals, flags = flags + 0 }
  end
end
local function share_remaining(holder)
  return math.min(math.floor((holder.deadline - now) / 1000), holder.length)
end
