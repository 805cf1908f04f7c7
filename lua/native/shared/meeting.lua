-- SPDX-License-Identifier: MIT
-- The stored form of a barrier. Arrivals have increasing numbers, so the end of a round
-- moves nothing: those from `base` on belong to the open round; older ones are kept for
-- parties that do not know the result yet, and for late copies of their requests.
--   s       `bar parties generation broken arrived base next first last kept earliest_us`
--   i<j>    arrival j: `C:K generation place deadline_us`; place `x`: it gave up, perhaps before
--           its request came
--   a<C:K>  its j
--   x<g>    generation g was ended by a reset: no party passed
-- first: the oldest kept arrival. last: the begin of the newest ended round. kept: the oldest
-- generation that is kept completely. earliest: no deadline is before it.
local function meeting_read(value)
  local m = { parties = 0, generation = 0, is_broken = 0, arrived = 0, base = 1, next = 1,
    first = 1, last = 1, kept = 0, earliest = 0 }
  if value then
    local numbers = {}
    for digits in string.gmatch(string.match(value, '^bar ([%d ]+)$') or '', '%d+') do
      numbers[#numbers + 1] = tonumber(digits)
    end
    m.parties, m.generation, m.is_broken, m.arrived, m.base, m.next, m.first, m.last, m.kept,
      m.earliest = unpack(numbers)
  end
  return m.earliest and m
end
-- nil: the key has another form. `party` may be ''.
local function meeting_load(key, party)
  local fields = redis.call('HMGET', key, 's', 'a' .. party)
  if not fields[1] and redis.call('EXISTS', key) == 1 then
    return nil
  end
  return meeting_read(fields[1]), fields[2] and tonumber(fields[2])
end
local foreign = redis.error_reply('WRONGTYPE this key does not hold a barrier of dibs')
