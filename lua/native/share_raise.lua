-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Gives a share a higher token, as raise does for a lock. doc/design/protocol.md 18.
-- KEYS 1 the resource    ARGV 1 lease id  2 the new token
-- answers 1 it has this token, now or since before   0 not there, or it has a higher one
--@include share_load
--@include share_holder
--@include share_grant
local id, old = string.match(ARGV[1], '^(.+):(%d+)$')
local share, text = share_load(KEYS[1], 'k' .. id)
if share.kind == 'lock' or share.kind == 'other' then
  return share_refuse(share)
end
local token = ARGV[2] + 0
local holder = text and share_holder(id, text)
if holder and holder.token == token then
  return 1
end
if not holder or holder.lease ~= ARGV[1] or token < holder.token or
  token > 9007199254740990 then
  return 0
end
-- First a write that allocates nothing, so that a full server accepts the second.
if share.kept == 1 then
  redis.call('PERSIST', KEYS[1])
else
  redis.call('PEXPIRE', KEYS[1], math.max(retention(holder.length), redis.call('PTTL', KEYS[1])))
end
share.token = math.max(share.token, token)
share_put(share, 'k' .. id, string.format('%s %.0f %.0f %.0f %.0f %s %d', holder.mode,
  holder.units, token, math.ceil((holder.deadline - token) / 1000), holder.length,
  holder.renewals, holder.flags))
share_save(share)
return 1
