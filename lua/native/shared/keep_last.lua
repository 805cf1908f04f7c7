-- SPDX-License-Identifier: MIT
-- Without a holder `key` keeps `memory`, the last grant. The first write allocates nothing, or is
-- repeated after one that does not: so a full server accepts the release.
if not redis.pcall('SET', key, '=' .. memory, 'KEEPTTL').ok then
  redis.call('PEXPIRE', key, 3600000)
  redis.call('SET', key, '=' .. memory, 'KEEPTTL')
end
