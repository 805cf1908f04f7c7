-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Extends leases; never shortens, never creates. Each renewal counts, so that watchers of a
-- lease start again. S3 S9; F7.
-- KEYS the locks, and with an era guard the era
-- ARGV for each: lease id, ttl ms; last the expected TIME (0: in doubt)
-- answers {now, then for each: waiters, remaining ms}. Waiters -1: not this lease, and the second
--         number is, as for break: 2 gone   3 another lease   4 no other since
-- Of a token: the last argument is its limit, and the lease may have been raised since.
local is_by_token = #ARGV % 2 == 0
if is_by_token then
  --@may_return late
end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local apart = now - ARGV[#ARGV]
local doubt = (apart > 250000 or apart < -250000) and 2 or 0
local answer, count = { now }, (#ARGV - 1) / 2
local values = redis.call('MGET', unpack(KEYS, 1, count))
local renew_any
local function general()
  --@include read_value
  --@include raise_ttl
  --@include longer_lease
  --@include era_is_young
  --@include is_last
  --@include is_grant
  return function(i)
    local key, value, waiters, remaining = KEYS[i], values[i], 0, 0
    local is_string = value
    if not value then
      local fields = redis.pcall('HMGET', key, 's', 'h', 'n')
      value = fields[1] and fields[2] and fields[3] and fields[1]
      waiters = value and fields[3] - fields[2]
    end
    local lease = value and read_value(value)
    local is_it = lease and lease.is_held and (lease.id == ARGV[2 * i - 1] or
      is_by_token and is_grant(lease, ARGV[2 * i - 1]))
    if is_it and not (now > lease.deadline and era_is_young(KEYS[count + 1])) then
      local length
      value, length, remaining = longer_lease(lease, tonumber(ARGV[2 * i]))
      -- First a write that allocates nothing, so that a full server accepts the second.
      redis.call('PEXPIRE', key, math.max(retention(length), redis.call('PTTL', key)))
      if is_string then
        redis.call('SET', key, value, 'KEEPTTL')
      else
        redis.call('HSET', key, 's', value)
      end
    else
      waiters, remaining = -1, 2
      if lease and lease.is_held and not is_it then
        remaining = 3
      elseif lease and is_last(lease, ARGV[2 * i - 1]) then
        remaining = 4
      end
    end
    answer[2 * i], answer[2 * i + 1] = waiters, remaining
  end
end
-- The common renewal runs straight on: a lease without waiters that is not over, with the same
-- length, of clients that do not doubt the clock. All others go to the general piece.
local has_written = false
for i = 1, count do
  local id, ttl, value = ARGV[2 * i - 1], ARGV[2 * i], values[i]
  local stored, token, ahead, length, renewals, flags
  if value and doubt == 0 then
    stored, token, ahead, length, renewals, flags = string.match(value,
      '^([^:= ]+:%d+:(%d+)) (%-?%d+) (%d+) (%d+) ([01])$')
  end
  local deadline = stored == id and length == ttl and token + ahead * 1000
  local longer = now + ttl * 1000
  if deadline and now <= deadline and deadline <= longer then
    ahead = math.ceil((longer - token) / 1000)
    value = id .. ' ' .. ahead .. ' ' .. ttl .. ' ' .. renewals + 1 .. ' ' .. flags
    -- First a write that allocates nothing, so that a full server accepts the others. A short
    -- lease sets its retention again with each eighth renewal, which leaves 52 minutes.
    if not has_written or renewals % 8 == 7 or ttl + 0 > 60000 then
      local kept = ttl + 0 <= 900000 and 3600000 or 4 * ttl
      local left = redis.call('PTTL', KEYS[i])
      redis.call('PEXPIRE', KEYS[i], left > kept and left or kept)
      has_written = true
    end
    redis.call('SET', KEYS[i], value, 'KEEPTTL')
    answer[2 * i], answer[2 * i + 1] = 0, ttl + 0
  else
    renew_any = renew_any or general()
    renew_any(i)
  end
end
return answer
