-- SPDX-License-Identifier: MIT
-- The caller's entry turns into a tombstone, or one is queued, unless it is about a later
-- ask. A full server refuses the writing of it; then at least the entry goes.
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
