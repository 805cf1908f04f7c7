-- SPDX-License-Identifier: MIT
-- Reads a queue entry; nil: another form.
--   waiter     `C K ttl_ms x<flags> 1 give_up_us <queued_us><nonce> floor`
--   tombstone  `x C K until_us`
-- Flags: 1 parks its leases, 4 polls and has no inbox. Waiters are dead after give_up,
-- tombstones expire at until; 0: never. queued_us has 16 digits, the nonce 20 or none: the
-- client polls, or has version 1, which keeps all text after the time.
local function read_entry(text)
  local client, ask, ttl, flags, give_up, queued, floor = string.match(text,
    '^(%S+) (%d+) (%d+) x(%d) 1 (%d+) (%d+) (%d+)$')
  if client then
    return { is_waiter = true, text = text, client = client, ask = ask, ttl = ttl, flags = flags,
      polls = flags >= '4', give_up = tonumber(give_up), queued = string.sub(queued, 1, 16),
      nonce = string.sub(queued, 17), floor = tonumber(floor) }
  end
  client, ask, give_up = string.match(text, '^x (%S+) (%d+) (%d+)$')
  if client then
    return { is_waiter = false, client = client, ask = ask, give_up = tonumber(give_up) }
  end
end
