-- SPDX-License-Identifier: MIT
-- Whether the free `lease` is the last grant `id`: then no other client had the name since.
-- Tokens decide: a cancel writes its own ask and keeps the token.
local function is_last(lease, id)
  return not lease.is_held and lease.token == tonumber(string.match(id, '%d+$'))
end
