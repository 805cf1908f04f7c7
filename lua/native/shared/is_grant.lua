-- SPDX-License-Identifier: MIT
-- Whether the held `lease` is `id`, or that one after the raise by 1 of a lingering lease: the
-- program may have been given its token before. A late copy of the ask gets a token of its own.
local function is_grant(lease, id)
  local owner, token = string.match(id or '', '^(.+:)(%d+)$')
  return lease.id == id or owner and lease.id == owner .. string.format('%.0f', token + 1)
end
