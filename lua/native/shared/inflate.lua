-- SPDX-License-Identifier: MIT
-- The first waiter, with `entry`, turns the string into a hash: a write that a full server
-- refuses comes before the removal. While a slot migrates, a cluster node refuses keys that do
-- not exist, even after the script itself removed them: the lease would be lost. So this is
-- tested before, with a key of the same slot that never exists: `-` where the key has the `m`
-- after its prefix. A right that the user lacks takes no lease away either: it is missed before
-- the removal, or the string is put back. Lives for `kept` ms.
local at = #string.match(prefix, '^[^{]+') + 2
local absent = string.sub(key, 1, at - 1) .. '-' .. string.sub(key, at + 1)
redis.call('SET', key, stored, 'KEEPTTL')
if type(redis.pcall('PEXPIRE', absent, kept)) == 'table' then
  redis.call('PEXPIRE', key, kept)                 -- or the user has no right to it
  return redis.error_reply('TRYAGAIN the slot of this lock is on its way to another node')
end
redis.call('DEL', key)
local done = redis.pcall('HSET', key, 's', stored, 'h', '1', 'n', '2', 'w1', entry,
  'c' .. client, '1')
if type(done) == 'table' then
  redis.call('SET', key, stored, 'PX', kept)
  return done
end
redis.call('PEXPIRE', key, kept)
