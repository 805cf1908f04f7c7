-- SPDX-License-Identifier: MIT
-- A barrier as it is stored. Arrivals are numbered for ever, so that the end of a meeting
-- moves nothing: those from `base` on belong to the one under way, older ones are kept as
-- memories for parties that have not heard yet, and for late copies of their requests.
--   s       `bar parties generation broken arrived base next first last kept earliest_us`
--   i<j>    arrival j: `C:K generation place deadline_us`; place `x`: it gave up, perhaps
--           before its request came
--   a<C:K>  its j
--   x<g>    generation g was ended by a reset: nobody passed
-- first: the oldest memory. last: where the newest ended meeting begins. kept: the oldest
-- generation of which all is remembered. earliest: no deadline is before it.
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
-- nil when the key is none of ours. `party` may be ''.
local function meeting_load(key, party)
  local fields = redis.call('HMGET', key, 's', 'a' .. party)
  if not fields[1] and redis.call('EXISTS', key) == 1 then
    return nil
  end
  return meeting_read(fields[1]), fields[2] and tonumber(fields[2])
end
local foreign = redis.error_reply('WRONGTYPE this key does not hold a barrier of dibs')
