-- SPDX-License-Identifier: MIT
--@include permit_ids
--@include permits_free
-- Returns the permits of an ask, `units` of them (0: all of them); reports whether all were
-- still its own, and the number of receivers.
local function permits_end(key, timeout, first, units, now_ms, publish, channel)
  local deadline = redis.call('ZSCORE', timeout, first)
  if deadline then
    permits_may_free(key)
  end
  local done, removed, most = 0, 0, units > 0 and units or permits_most
  repeat
    local count = math.min(permits_step, most - done)
    local gone = redis.call('ZREM', timeout, unpack(permit_ids(first, done, count)))
    done, removed = done + count, removed + gone
  until done >= most or (units == 0 and gone == 0)
  local heard = permits_free(key, removed, publish, channel)
  return deadline ~= false and tonumber(deadline) > now_ms and
    (units == 0 or removed == units), heard
end
