-- SPDX-License-Identifier: MIT
-- Reads a queue entry of a shared name; nil: none.
--   waiter     `C K ttl_ms <mode><flags> units give_up_us <queued_us><nonce> floor`
--              flags: 4 polls and has no inbox; the nonce as in read_entry.lua
--   tombstone  `x C K until_us`
local function share_entry(text)
  local client, ask, ttl, mode, flags, units, give_up, queued, floor = string.match(text or '',
    '^(%S+) (%d+) (%d+) ([rwp])(%d) (%d+) (%d+) (%d+) (%d+)$')
  if client then
    return { is_waiter = true, text = text, client = client, ask = ask,
      id = client .. ':' .. ask, ttl = ttl + 0, mode = mode, polls = flags >= '4',
      units = units + 0, give_up = give_up + 0, queued = string.sub(queued, 1, 16),
      nonce = string.sub(queued, 17), floor = floor + 0 }
  end
  client, ask, give_up = string.match(text or '', '^x (%S+) (%d+) (%d+)$')
  if client then
    return { is_waiter = false, client = client, ask = ask, id = client .. ':' .. ask }
  end
end
