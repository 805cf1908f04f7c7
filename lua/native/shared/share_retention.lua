-- SPDX-License-Identifier: MIT
-- On the ways that are straight on the first grant or wait of each minute, and long ones, set the
-- retention again; a semaphore with a set count has none. As in share_save() a write that a full
-- server refuses comes first. `last` is the token before, `ttl` that of the caller.
if (ttl + 0 > 900000 or math.floor(now / 60000000) ~= math.floor(last / 60000000)) and
  not (kind == 'sem' and string.find(rest, ' 1$')) then
  --@include raise_ttl
  redis.call('SET', KEYS[1], '', 'NX')
  raise_ttl(KEYS[1], ttl + 0)
end
