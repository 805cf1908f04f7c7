-- SPDX-License-Identifier: MIT
-- Sets the number of permits, or deletes the semaphore. A lower number ends no lease; a
-- higher one grants to waiters. A set semaphore stays until it is deleted; S1';
-- doc/design/protocol.md 9.
-- KEYS 1 the resource  2 with an era guard: the era
-- ARGV 1 set, absent (unless there is a count) or delete  2 permits  3 `<prefix> <name>`
--      4 expected TIME (0: in doubt)
-- answers {1 done, the count now}  {0 not done, the count}
--@may_return late
--@include share_load
local share = share_load(KEYS[1])
local is_absent = share.kind == 'none' or share.kind == 'new'
if not is_absent and share.kind ~= 'sem' then
  return share_refuse(share)
end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local doubt = math.abs(now - ARGV[4]) > 250000 and 2 or 0
local key = KEYS[1]
local prefix, name = string.match(ARGV[3], '^(%S+) (.*)$')
--@include era
local quarantine = held_back(prefix)
--@include share_grant
--@include share_over
--@include share_pump
if ARGV[1] == 'delete' then
  if not is_absent then
    share_drop_over(share)
    share_pump(share)
    share_save(share)
    if share.used > 0 or share.head < share.next then
      return { 0, share.limit }
    end
    redis.call('DEL', share.key)
  end
  return { 1, 0 }
end
if not is_absent and ARGV[1] == 'absent' then
  share.length = 1
  share_save(share)
  return { 0, share.limit }
end
local keeps = ARGV[1] == 'set'
if share.kind ~= 'none' then
  -- First a write that changes nothing: a full server refuses the script as a whole. Then what
  -- else may be refused: a number that stays with a key that ends would lose the permits in use.
  redis.call('HSET', share.key, 's', share_state(share))
  redis.call('HDEL', share.key, '')
  if keeps then
    redis.call('PERSIST', share.key)
  end
end
share.kind, share.limit, share.generation = 'sem', ARGV[2] + 0, share.generation + 1
share.kept = keeps and 1 or 0
share_put(share, 's', share_state(share))
share.length = 1
share_drop_over(share)
share_pump(share)
share_save(share)
return { 1, share.limit }
