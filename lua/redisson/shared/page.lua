-- SPDX-License-Identifier: MIT
-- One page of HSCAN or SSCAN.
-- ARGV 1 cursor  2 approximate number  3 limit of bytes
-- answers {cursor, {result of the command}}; an element beyond the limit is replaced by its
--         length, an integer
local function page(command)
  local found = redis.call(command, KEYS[1], ARGV[1], 'COUNT', ARGV[2])
  local entries, room = found[2], ARGV[3] + 0
  if #entries > 16000 then
    return redis.error_reply('ERR one page of it has ' .. #entries .. ' entries')
  end
  for i = 1, #entries do
    if #entries[i] > room then
      entries[i] = #entries[i]
    else
      room = room - #entries[i]
    end
  end
  return found
end
