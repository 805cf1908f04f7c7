-- SPDX-License-Identifier: MIT
-- The part of break for a read/write lock or a semaphore. Returns the reply.
--@include share_load
local id = string.match(ARGV[1], '^(.+):%d+$')
local share, text = share_load(key, 'k' .. id)
if share.kind == 'lock' or share.kind == 'other' then
  return foreign
end
--@include share_grant
--@include share_over
local quarantine = held_back(prefix)
--@include share_pump
local holder = text and share_holder(id, text)
if not holder or holder.lease ~= ARGV[1] then
  return 2
end
share_remove(share, holder)
share_pump(share)
share.told[#share.told + 1] = { client = string.match(id, '^(.+):'), words = 'lost ' .. ARGV[1] }
share_save(share)
return 1
