-- SPDX-License-Identifier: MIT
-- Turns the caller's entry into a tombstone, or adds one, unless the entry is of a later
-- ask. If a full server refuses the write, at least the entry is removed.
local known = queue.mine and read_entry(redis.call('HGET', key, 'w' .. queue.mine) or '')
if not known or tonumber(known.ask) <= ask then
  local text = 'x ' .. ARGV[1] .. ' ' .. ARGV[2] .. ' ' .. ARGV[3]
  local is_of_use = until_us == 0 or now <= until_us
  if known then
    if not is_of_use or
      type(redis.pcall('HSET', key, 'w' .. queue.mine, text)) == 'table' then
      redis.call('HDEL', key, 'w' .. queue.mine, 'c' .. ARGV[1])
    end
  elseif is_of_use and type(redis.pcall('HSET', key, 'n', queue.next + 1,
    'w' .. queue.next, text, 'c' .. ARGV[1], queue.next)) ~= 'table' then
    queue.next = queue.next + 1
  end
end
