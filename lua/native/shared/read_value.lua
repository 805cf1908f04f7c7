-- SPDX-License-Identifier: MIT
-- The stored value, taken apart; nil when it is none of ours.
--   held  `C:K:T ahead length renewals flags`   the deadline is T + ahead (ms)
--   free  `=C:K:T`                              the last grant
-- Flags: 1 the holder lingers, 2 its clock disagreed with ours (deadline not to be used).
local function read_value(value)
  local id, client, ask, token, ahead, length, renewals, flags = string.match(value,
    '^(([^:= ]+):(%d+):(%d+)) (%-?%d+) (%d+) (%d+) (%d)$')
  if id then
    return { is_held = true, value = value, id = id, client = client, ask = tonumber(ask),
      token = tonumber(token), deadline = token + ahead * 1000, length = tonumber(length),
      renewals = renewals, flags = tonumber(flags) }
  end
  id, client, ask, token = string.match(value, '^=(([^:= ]+):(%d+):(%d+))$')
  if id then
    return { is_held = false, id = id, client = client, ask = tonumber(ask),
      token = tonumber(token) }
  end
end
