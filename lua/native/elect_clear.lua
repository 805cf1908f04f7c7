-- SPDX-License-Identifier: MIT
--@function allow-oom
-- A leader resigns: its value is removed and the observers are notified. Sent just before
-- the release; a look between the two finds no leader.
-- KEYS 1 the election    ARGV 1 lease string  2 fence  3 ms to remember it  4 channel
-- answers 1 cleared   0 another leader has published since, or it was cleared before
--@include fence_order
--@include tell_channel
local last = redis.call('HMGET', KEYS[1], 'f', 'n')
if last[1] and (is_below(ARGV[2], last[1]) or (last[1] == ARGV[2] and last[2] == '-')) then
  return 0
end
-- The first write allocates nothing, or it is the one that a full server refuses.
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('HSET', KEYS[1], 'f', ARGV[2], 'l', ARGV[1], 'n', '-', 'v', '')
redis.call('PEXPIRE', KEYS[1], ARGV[3])
tell_channel(ARGV[4], 'look')
return 1
