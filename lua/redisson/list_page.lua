-- SPDX-License-Identifier: MIT
--@function no-writes
-- KEYS 1 a list    ARGV 1 index from 0 on  2 limit of elements  3 limit of bytes
-- answers {element ...} within the limits; if the first one exceeds them: its length alone, an
--         integer
local found, room, first = {}, ARGV[3] + 0, ARGV[1] + 0
for i = first, first + ARGV[2] - 1 do
  local element = redis.call('LINDEX', KEYS[1], i)
  if not element then
    break
  end
  room = room - #element
  if room < 0 then
    found[1] = found[1] or #element
    break
  end
  found[#found + 1] = element
end
return found
