-- SPDX-License-Identifier: MIT
-- Changes a round. The caller sets `channel`. On a full server the first write decides:
-- PEXPIRE allocates nothing, and later writes are not refused.
--@include tell_channel
local function meeting_text(m)
  return string.format('bar %.0f %.0f %d %.0f %.0f %.0f %.0f %.0f %.0f %.0f', m.parties,
    m.generation, m.is_broken, m.arrived, m.base, m.next, m.first, m.last, m.kept, m.earliest)
end
-- The next round begins empty.
local function meeting_end(m)
  m.generation, m.last, m.base = m.generation + 1, m.base, m.next
  m.is_broken, m.arrived, m.earliest = 0, 0, 0
end
local function meeting_tell()
  tell_channel(channel, 'look')
end
local function meeting_break(m)
  m.is_broken = 1
  redis.call('HSET', KEYS[1], 's', meeting_text(m))
  meeting_tell()
end
-- A new arrival removes at most two old ones: so their number does not grow. It counts, also where
-- the user has no right to read or to remove them.
local function meeting_forget(m)
  for _ = 1, 2 do
    if m.last - m.first <= 1024 then
      return
    end
    local text = redis.pcall('HGET', KEYS[1], 'i' .. m.first) or ''
    if type(text) == 'table' then
      return
    end
    local party, generation = string.match(text, '^(%S+) (%d+) ')
    if party then
      if type(redis.pcall('HDEL', KEYS[1], 'i' .. m.first, 'a' .. party,
        'x' .. generation - 1)) == 'table' then
        return
      end
      m.kept = math.max(m.kept, generation + 1)
    end
    m.first = m.first + 1
  end
end
