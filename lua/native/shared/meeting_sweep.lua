-- SPDX-License-Identifier: MIT
-- Breaks the round when a party has been silent for too long; returns whether. All are
-- checked only if one may be overdue. A deadline further away than any party can have
-- written means that the clock was set back since: it is corrected, or dead parties would be
-- waited for as long as the step. If the clock was set forward, live parties look dead, and
-- the round breaks without need.
local function sweep(m)
  local latest = now + silence
  if m.arrived == 0 or (now <= m.earliest and m.earliest <= latest) then
    return false
  end
  m.earliest = latest
  for from = m.base, m.next - 1, 1000 do
    local names = {}
    for index = from, math.min(from + 999, m.next - 1) do
      names[#names + 1] = 'i' .. index
    end
    for i, text in ipairs(redis.call('HMGET', KEYS[1], unpack(names))) do
      local begin, deadline = string.match(text or '', '^(%S+ %d+ %d+) (%d+)$')
      deadline = tonumber(deadline) or latest
      if deadline < now then
        m.earliest = 0
        meeting_break(m)
        return true
      end
      if deadline > latest then
        redis.call('HSET', KEYS[1], names[i], begin .. string.format(' %.0f', latest))
      end
      m.earliest = math.min(m.earliest, deadline)
    end
  end
  redis.call('HSET', KEYS[1], 's', meeting_text(m))
  return false
end
