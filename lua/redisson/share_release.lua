-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Ends an ask for a read/write lock or for permits, or its lease. The name's content
-- determines the kind: a token alone does not. S3 S8 S10 L2; doc/design/redisson-shares.md 1
-- to 3.
-- KEYS 1 the lock or semaphore  2 the end of this ask  3 the end of this owner's reading
--      4 ids of permits, by their ends  5 what this ask has taken without a lease
-- ARGV 1 owner `U:K`  2 first permit id
--      3 `<p|u> <permits>`, u: certainly taken, without a lease; 0: all of them
--      4 ms in which a copy of the ask or of this may arrive (0: none)
--      5 PUBLISH or SPUBLISH  6 the channel of a read/write lock  7 of a semaphore
--      8 the reply if there is nothing: 2 for a lease, 0 for an ask
-- answers 1 done, for a lease also {1, number of receivers}, or ARGV 8
-- Of a token: the last argument is its limit, and the owner is notified, too.
local is_by_token = ARGV[9]
if is_by_token then
  --@may_return late
end
local time = redis.call('TIME')
local now_ms = math.floor(time[1] * 1000 + time[2] / 1000)
local key, kind, units = KEYS[1], string.match(ARGV[3], '^(%a) (%d+)$')
local copies_ms, none, is_done, heard = tonumber(ARGV[4]), tonumber(ARGV[8]), false, 0
--@include say
--@include rw_end
--@include permits_end
local stored = redis.call('TYPE', key).ok
if stored == 'hash' then
  is_done, heard = rw_end(key, ARGV[1], KEYS[3], ARGV[5], ARGV[6], is_by_token)
else
  local mine, semaphore = redis.call('GET', KEYS[5]), stored ~= 'none' and key
  if kind == 'u' and redis.call('EXISTS', KEYS[2]) == 1 then
    return 1
  end
  if mine or kind == 'u' then
    -- A copy of this would add them again. First a removal, so that a full server accepts the rest.
    redis.call('DEL', KEYS[2])
    permits_may_free(semaphore)
    if copies_ms > 0 then
      redis.call('SET', KEYS[2], '1', 'PX', ARGV[4])
    end
    redis.call('DEL', KEYS[5])
    is_done, heard = true, permits_free(semaphore, tonumber(mine or units), ARGV[5], ARGV[7])
    copies_ms = 0
  else
    is_done, heard = permits_end(semaphore, KEYS[4], ARGV[2], tonumber(units), now_ms, ARGV[5],
      ARGV[7])
  end
end
if copies_ms > 0 then
  redis.pcall('SET', KEYS[2], '1', 'PX', ARGV[4])
end
if is_done and heard > 0 and none == 2 then
  return { 1, heard }
end
return is_done and 1 or none
