-- SPDX-License-Identifier: MIT
-- For the ways that are straight on: what the names of inboxes begin with, and the commands to
-- publish and to count subscribers, as inbox_of.lua has them in functions.
local inboxes, publish, numsub = prefix .. ':inbox:', 'PUBLISH', 'NUMSUB'
if string.find(prefix, '{', 1, true) then
  local plain, kind = string.match(prefix, '^([^{]+){([cs]?)')
  inboxes = plain .. ':inbox:'
  if kind ~= '' then
    inboxes = inboxes .. '{' .. string.match(KEYS[1], '{([^}]+)}') .. '}:'
  end
  if kind == 's' then
    publish, numsub = 'SPUBLISH', 'SHARDNUMSUB'
  end
end
