-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Returns permits, the oldest first: the remaining entries are younger than necessary, so no
-- interval has too many.
-- KEYS as in shared/rate.lua, 6 as in shared/told.lua    ARGV 1 permits
-- answers the number of returned permits, as text; '-1' no rate is set
--@may_return late
--@may_return told
--@may_return rate
local wanted, given, over = tonumber(ARGV[1]), 0, {}
local oldest = live(wanted)
-- A removal of nothing, so that a user without the right to it changes nothing.
redis.call('ZREM', permits_key, '')
for i = 1, #oldest, 2 do
  local permits = permits_of(oldest[i])
  if given < wanted then
    if given + permits > wanted then
      local rest = given + permits - wanted
      redis.call('ZADD', permits_key, oldest[i + 1],
                 string.sub(oldest[i], 1, -5) .. struct.pack('I', rest))
      permits = permits - rest
    end
    given = given + permits
    over[#over + 1] = oldest[i]
  end
end
if given > 0 then
  for _, entry in ipairs(gone) do
    over[#over + 1] = entry
  end
  for first = 1, #over, 1000 do
    redis.call('ZREM', permits_key, unpack(over, first, math.min(first + 999, #over)))
  end
  write_value(room + given)
  live_on()
end
return answer(decimal(given))
