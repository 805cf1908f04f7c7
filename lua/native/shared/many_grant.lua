-- SPDX-License-Identifier: MIT
-- All members belong to the set or are free: grants them, with one token for all.
local first, last, is_again = members[1].lease, 0, true
local remaining, length = ttl, first.length
for _, member in ipairs(members) do
  local lease = member.lease
  last = math.max(last, lease.token)
  is_again = is_again and member.is_mine and lease.id == first.id
  if is_again then
    length = math.min(length, lease.length)
    remaining = math.min(remaining, math.floor((lease.deadline - now) / 1000))
  end
end
if is_again then
  return { 2, now, math.min(remaining, length), length, first.token, tonumber(first.renewals) }
end
local token
for _, member in ipairs(members) do
  token = take(member, last)
end
return { 1, now, ttl, token }
