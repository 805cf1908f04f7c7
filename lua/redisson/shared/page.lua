-- SPDX-License-Identifier: MIT
-- One page of a walk by HSCAN or SSCAN.
-- ARGV 1 cursor  2 about how many  3 how many bytes there is room for
-- answers {cursor, {what the command answers}}; in the place of what found no room there is
--         its size, an integer
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
