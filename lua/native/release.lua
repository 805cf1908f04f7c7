-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Ends the lease and grants it to the next waiter. S3 S8 L2 L10; doc/design/protocol.md 4.
-- KEYS 1 the lock, 2 with an era guard the era
-- ARGV 1 lease id  2 `<expected TIME, 0: in doubt> <prefix> <name>`
--      of a token: 3 expected TIME, instead of that in 2  4 its limit
-- answers 1 done: the lease was stored, or was released before and is still the last grant
--         5 the same, of an uncontended lease, by a server that has SET .. IFEQ: Valkey 8.1,
--           Redis 8.4. The next such release may do without this script (protocol.md 23)
--         2 gone: the name is free, and another client may have had it since
--         {3, the present lease}
-- Of a token: the lease may have been raised since, and the client that was granted the lease
-- is notified: it may still believe in it. For the uncontended path as in acquire.lua.
local redis, ARGV = redis, ARGV
local is_by_token = ARGV[3]
if is_by_token then
  --@may_return late
end
local key = KEYS[1]
local value = redis.call('MGET', key)[1]
if value and not is_by_token and value:find(ARGV[1], 1, true) == 1 and
  value:byte(#ARGV[1] + 1) == 32 then
  local memory = ARGV[1]
  --@include keep_last
  local has_ifeq = (redis.VALKEY_VERSION_NUM or 0) >= 524544 or
    (redis.REDIS_VERSION_NUM or 0) >= 525312
  return has_ifeq and 5 or 1
end
local fields = not value and not is_by_token and
  redis.pcall('HMGET', key, 's', 'h', 'n')
local stored, ahead, length = fields and fields[1]
if stored and stored:find(ARGV[1], 1, true) == 1 then
  ahead, length = stored:match('^ (%-?%d+) (%d+) %d+ %d$', #ARGV[1] + 1)
end
-- A queue without an entry.
if ahead and not KEYS[2] and fields[2] and fields[2] == fields[3] and
  redis.pcall('SET', key, '=' .. ARGV[1], 'PX', '3600000').ok then
  return 1
end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local expected, prefix, name = string.match(ARGV[2], '^(%d+) (%S+) (.*)$')
local apart = now - (ARGV[3] or expected)
local doubt = (apart > 250000 or apart < -250000) and 2 or 0
if ahead and doubt == 0 then
  --@include era_is_over
  if is_over then
    --@may_return hand_over
  end
end
--@include load
--@include new_lease
--@include end_lease
--@include is_last
--@include is_grant
local lease, queue = load(key, '')
if not lease then
  return foreign
end
local is_raised = is_by_token and lease.is_held and is_grant(lease, ARGV[1])
if lease.id ~= ARGV[1] and not is_raised then
  if lease.is_held then
    return { 3, lease.id }
  end
  return is_last(lease, ARGV[1]) and 1 or 2
end
if lease.is_held then
  end_lease(queue, lease.token, lease.id)
  if is_by_token then
    --@include tell_released
    tell_released(lease.client, lease.id)
  end
end
return 1
