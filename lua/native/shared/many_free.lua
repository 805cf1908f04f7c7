-- SPDX-License-Identifier: MIT
-- The uncontended path of a set: no member has a holder or a queue, or had this client last. What
-- it cannot decide goes the long way. A queue has no value here.
local values, last, absent = redis.call('MGET', unpack(KEYS)), floor, {}
for place = 1, #KEYS do
  local client, token
  if values[place] then
    client, token = string.match(values[place], '^=([^:= ]+):%d+:(%d+)$')
    last = client and client ~= ARGV[1] and math.max(last, token + 0) or now
  else
    absent[#absent + 1] = KEYS[place]
  end
end
if last < now and (not absent[1] or redis.call('EXISTS', unpack(absent)) == 0) then
  local value = ARGV[1] .. ':' .. ARGV[2] .. ':' .. string.format('%.0f', now) .. ' ' ..
    ARGV[3] .. ' ' .. ARGV[3] .. ' 0 0'
  for place = 1, #KEYS do
    redis.call('SET', KEYS[place], value, 'PX', '3600000')
  end
  return { 1, now, ttl, now }
end
