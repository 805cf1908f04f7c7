-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Lengthens leases; never shortens, never creates. Each renewal counts, which tells those
-- who watch a lease to begin anew. S3 S9; F7.
-- KEYS the locks, and with an era guard the era
-- ARGV for each: lease string, ttl ms; last what TIME should say (0: in doubt)
-- answers {now, then for each: waiters, remaining ms}, waiters -1 where it is not the lease
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
--@include read_value
--@include raise_ttl
local doubt = math.abs(now - ARGV[#ARGV]) > 250000 and 2 or 0
--@include longer_lease
--@include era_is_young
local answer, count = { now }, (#ARGV - 1) / 2
local values = redis.call('MGET', unpack(KEYS, 1, count))
for i = 1, count do
  local key, value, waiters, remaining = KEYS[i], values[i], 0, 0
  local is_string = value
  if not value then
    local fields = redis.pcall('HMGET', key, 's', 'h', 'n')
    value = fields[1] and fields[2] and fields[3] and fields[1]
    waiters = value and fields[3] - fields[2]
  end
  local lease = value and read_value(value)
  if lease and lease.is_held and lease.id == ARGV[2 * i - 1] and
    not (now > lease.deadline and era_is_young(KEYS[count + 1])) then
    local length
    value, length, remaining = longer_lease(lease, tonumber(ARGV[2 * i]))
    -- First a write that allocates nothing, so that a full server takes the second (B16).
    redis.call('PEXPIRE', key, math.max(retention(length), redis.call('PTTL', key)))
    if is_string then
      redis.call('SET', key, value, 'KEEPTTL')
    else
      redis.call('HSET', key, 's', value)
    end
  else
    waiters = -1
  end
  answer[2 * i], answer[2 * i + 1] = waiters, remaining
end
return answer
