-- SPDX-License-Identifier: MIT
-- The beginning of each script on a rate limiter in Redisson's layout;
-- doc/design/protocol.md 20.
-- KEYS 1 N, a hash: rate, interval, keepAliveTime, type  2 {N}:value  3 {N}:value:U
--      4 {N}:permits  5 {N}:permits:U; type 1, each client by itself, uses 3 and 5, else 2 and 4
-- An entry of the zset is the request and, in its last 4 bytes, the number of permits; its score
-- is the time of the grant, ms. It counts while now < score + interval. The value is the rate
-- minus the permits of counting entries; of type 1 it is 0 minus them, as others change the rate
-- and only this client reads it.
-- answers {-1} if no rate is set
--@may_return rate_config
local rate, interval = tonumber(config[1]), tonumber(config[2])
local keep_alive, of_each = tonumber(config[3]) or 0, config[4] == '1'
if not rate or not interval or not config[4] then
  if redis.call('EXISTS', KEYS[1]) == 1 then
    return foreign
  end
  return { -1 }
end
if rate > 9007199254740992 or interval > 9007199254740992 then
  return redis.error_reply('ERR a rate or interval above 2^53 cannot be counted here')
end
local value_key, permits_key = KEYS[of_each and 3 or 2], KEYS[of_each and 5 or 4]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function decimal(number)
  return string.format('%.0f', number)
end
local gone_by = decimal(now - interval)
local is_odd = false
-- In the byte order of the server's machine, as Redisson writes it.
local function permits_of(entry)
  if #entry < 4 then
    is_odd = true
    return 0
  end
  return (struct.unpack('I', entry, #entry - 3))
end
local function entry_of(id, permits)
  return struct.pack('Bc0I', #id, id, permits)
end
local function sum_of(entries)
  local sum = 0
  for _, entry in ipairs(entries) do
    sum = sum + permits_of(entry)
  end
  return sum
end
-- Counting entries, the oldest first, with scores if `most` limits their number.
local function live(most)
  if most then
    return redis.call('ZRANGEBYSCORE', permits_key, '(' .. gone_by, '+inf', 'WITHSCORES',
                      'LIMIT', 0, decimal(most))
  end
  return redis.call('ZRANGEBYSCORE', permits_key, '(' .. gone_by, '+inf')
end
local value = redis.call('GET', value_key)
local gone = redis.call('ZRANGEBYSCORE', permits_key, '-inf', gone_by)
local back, used = sum_of(gone), redis.call('ZCOUNT', permits_key, '(' .. gone_by, '+inf')
local shift = of_each and rate or 0
local kept = value and math.min((tonumber(value) or 0) + shift + back, rate) or rate
-- A few entries are summed up, and the sum counts: the value may be lost, or raised by
-- Redisson's release. With many entries, of one permit at least, the value counts.
local lost = 0
if used <= 128 or not value then
  used = sum_of(live())
  lost = math.max(rate - used - kept, 0)
end
if is_odd or value and not tonumber(value) then
  return redis.error_reply('WRONGTYPE the permits of this rate limiter are no permits')
end
-- Less than 0 if more permits count than the rate has now.
local room = math.min(kept, rate - used)
local free = math.max(room, 0)
-- The order of the writes: an entry that the value does not include would add its permits to it
-- when it is gone; so would one that is gone for the second time, if it stays. Removed entries that
-- the value still includes only mean fewer permits for an interval.
-- Returns the permits of those that the user has no right to remove: the value includes them on.
local function remove_gone()
  local done = #gone > 0 and redis.pcall('ZREMRANGEBYSCORE', permits_key, '-inf', gone_by)
  return type(done) == 'table' and back or 0
end
-- Returns what SET does, which may be an error.
local function write_value(left)
  return redis.pcall('SET', value_key, decimal(math.min(left, rate) - shift))
end
-- After the writes. A client's own keys expire: an interval later their contents have no
-- effect. While a slot migrates, a cluster node refuses the key of the entries, if all were
-- removed.
local function live_on()
  local left = keep_alive
  if keep_alive > 0 then
    redis.pcall('PEXPIRE', KEYS[1], keep_alive)
  else
    left = redis.call('PTTL', KEYS[1])
    if left <= 0 and of_each then
      left = interval + 1000
    end
  end
  if left > 0 then
    redis.pcall('PEXPIRE', value_key, decimal(left))
    redis.pcall('PEXPIRE', permits_key, decimal(left))
  end
end
