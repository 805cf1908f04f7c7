-- SPDX-License-Identifier: MIT
-- Before a guarded write: checks the types of both keys, the fence, and late copies. After
-- the write: remember(). doc/design/protocol.md 13. `kinds`, set before: types allowed for
-- KEYS[1].
-- KEYS 1 the program's key  2 its fence: `<highest applied> <client of the last> <settled>`
-- ARGV 1 fence  2 C  3 number of this write  4 C's writes on this key below are acknowledged, but
-- sums that may be repeated: those have a third key, which knows their late copies
-- Fences exceed 2^53: their digits are compared, by length and then by bytes.
local stored = redis.call('MGET', KEYS[2])[1]
local seen, writer, settled = '0', '', '0'
if stored then
  seen, writer, settled = string.match(stored, '^([1-9]%d*) (%S+) (%d+)$')
end
if not seen or not stored and redis.call('EXISTS', KEYS[2]) == 1 then
  return redis.error_reply('WRONGTYPE the key of the fence does not hold a fence of dibs')
end
if not kinds[redis.call('TYPE', KEYS[1]).ok] then
  return redis.error_reply('WRONGTYPE this key holds another kind of value')
end
if #ARGV[1] < #seen or #ARGV[1] == #seen and ARGV[1] < seen then
  return 0
end
if ARGV[1] == seen and ARGV[2] == writer then
  if not KEYS[3] and ARGV[3] + 0 < settled + 0 then
    return 2
  end
  settled = string.format('%.0f', math.max(settled, ARGV[4]))
else
  settled = ARGV[4]
end
-- A script is not rolled back: what this user may not do after the write is refused before it, by
-- commands that change nothing. Of memory the write itself decides, after which there is enough.
local refused = redis.pcall('SET', KEYS[2], '', stored and 'NX' or 'XX')
if refused and not string.find(refused.err, 'OOM command', 1, true) then
  return refused
end
-- The fence outlives the key by a day, so that an old write still finds it. `left`: what PTTL
-- returns of the key after the write; below -1: it is gone.
local function remember(left)
  local value = ARGV[1] .. ' ' .. ARGV[2] .. ' ' .. settled
  if left == -1 then
    redis.call('SET', KEYS[2], value)
  else
    redis.call('SET', KEYS[2], value, 'PX', string.format('%.0f', math.max(left, 0) + 86400000))
  end
end
