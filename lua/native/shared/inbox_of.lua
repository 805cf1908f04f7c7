-- SPDX-License-Identifier: MIT
-- The channel of `asker`, and how to publish: a set of names, `C.n`, uses the inbox of its
-- client C. In Cluster the inbox is in the slot of `key`. doc/design/protocol.md 15.
local function inbox_of(asker)
  local plain, kind = string.match(prefix, '^([^{]+){([cs]?)')
  local tag = ''
  if kind == 'c' or kind == 's' then
    tag = '{' .. string.match(key, '{([^}]+)}') .. '}:'
  end
  return (plain or prefix) .. ':inbox:' .. tag .. string.sub(asker, 1, 22), kind == 's'
end
-- A node before 7.0 has no sharded channels, and the caller may not know that yet.
local function tell(asker, message)
  local inbox, is_sharded = inbox_of(asker)
  local told = redis.pcall(is_sharded and 'SPUBLISH' or 'PUBLISH', inbox, message)
  if is_sharded and type(told) == 'table' then
    redis.pcall('PUBLISH', inbox, message)
  end
end
-- Follows the name of a message that grants: known to this waiter and the server only.
local function proof_of(nonce)
  return nonce == '' and ' ' or ':' .. nonce .. ' '
end
-- The reply of NUMSUB: each inbox and its number of subscribers. Not the result of PUBLISH,
-- which counts pattern subscribers (F11). An error for a user without the right to ask.
local function subscribers(is_sharded, ...)
  local counts = redis.pcall('PUBSUB', is_sharded and 'SHARDNUMSUB' or 'NUMSUB', ...)
  if is_sharded and not counts[2] then
    counts = redis.pcall('PUBSUB', 'NUMSUB', ...)
  end
  return counts
end
-- A caller without the right to ask polls, and may release: every asker then counts as
-- listening.
local function listens(asker)
  local inbox, is_sharded = inbox_of(asker)
  local count = subscribers(is_sharded, inbox)[2]
  return not count or count > 0
end
