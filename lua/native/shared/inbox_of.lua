-- SPDX-License-Identifier: MIT
-- Where `asker` is told, and how: a set of names, `C.n`, at the inbox of its client C. In
-- Cluster the inbox is beside `key`, in its slot. doc/design/protocol.md 15.
local function inbox_of(asker)
  local plain, kind = string.match(prefix, '^([^{]+){([cs]?)')
  local tag = ''
  if kind == 'c' or kind == 's' then
    tag = '{' .. string.match(key, '{([^}]+)}') .. '}:'
  end
  return (plain or prefix) .. ':inbox:' .. tag .. string.sub(asker, 1, 22), kind == 's'
end
-- A node before 7.0 has no channels of a slot, and who asks may not know yet.
local function tell(asker, message)
  local inbox, is_sharded = inbox_of(asker)
  local told = redis.pcall(is_sharded and 'SPUBLISH' or 'PUBLISH', inbox, message)
  if is_sharded and type(told) == 'table' then
    redis.pcall('PUBLISH', inbox, message)
  end
end
-- Not the answer of PUBLISH: pattern subscribers would make the dead look alive (F11). Who may
-- not ask, since he polls, lets go all the same: then it is as if somebody listened.
local function listens(asker)
  local inbox, is_sharded = inbox_of(asker)
  local count = redis.pcall('PUBSUB', is_sharded and 'SHARDNUMSUB' or 'NUMSUB', inbox)[2]
  if is_sharded and not count then
    count = redis.pcall('PUBSUB', 'NUMSUB', inbox)[2]
  end
  return not count or count > 0
end
