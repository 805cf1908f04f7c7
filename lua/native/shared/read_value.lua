-- SPDX-License-Identifier: MIT
-- Reads the stored value; nil: another form.
--   held  `C:K:T ahead length renewals flags`   the deadline is T + ahead (ms)
--   free  `=C:K:T`                              the last grant
-- Flags: 1 the holder parks leases, 2 its clock disagreed with ours (ignore the deadline).
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
