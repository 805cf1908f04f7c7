-- SPDX-License-Identifier: MIT
-- Takes permits of a rate limiter, or returns when to ask again.
-- KEYS as in shared/rate.lua    ARGV 1 permits  2 16 bytes that identify this request
-- answers {1, permits left} granted, now or before   {0, ms} ask again after this time
--         {-1} no rate is set   {-2, rate, interval} more than the rate
--@may_return late
--@may_return rate
local wanted, entry = tonumber(ARGV[1]), entry_of(ARGV[2], ARGV[1])
if redis.call('ZSCORE', permits_key, entry) then
  return { 1, free }
end
if wanted > rate then
  return { -2, rate, interval }
end
-- Entries were removed before their time: the value still includes them, and they count from
-- now.
local function make_up_for_the_lost()
  if lost > 0 then
    redis.call('ZADD', permits_key, decimal(now),
               entry_of(string.reverse(ARGV[2]), math.min(lost, 4294967295)))
  end
end
if wanted <= free then
  redis.call('ZADD', permits_key, decimal(now), entry)
  make_up_for_the_lost()
  local done = write_value(free - wanted - remove_gone())
  if done.err then                                 -- the user has no right to it
    redis.call('ZREM', permits_key, entry)
    return done
  end
  live_on()
  return { 1, free - wanted }
end
make_up_for_the_lost()
live_on()
local at, then_free, oldest = now, room, live(wanted - room)
for i = 1, #oldest, 2 do
  if then_free < wanted then
    then_free, at = then_free + permits_of(oldest[i]), tonumber(oldest[i + 1])
  end
end
return { 0, math.max(at + interval - now, 1) }
