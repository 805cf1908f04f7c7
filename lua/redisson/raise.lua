-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Gives a lease a higher token, for a quorum: stored in a second key, for the next holder.
-- Of a lock, or of a share of a read/write lock.
-- KEYS 1 the lock  2 the last token    ARGV 1 owner `U:K`  2 the token
-- answers 1 it has it, and no higher one was granted   0 not the lease of this owner
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 and
   redis.call('HEXISTS', KEYS[1], ARGV[1] .. ':write') == 0 then
  return 0
end
--@include raise_token
raise_token(KEYS[2], tonumber(ARGV[2]))
return 1
