-- SPDX-License-Identifier: MIT
--@function no-writes
-- Reads a guarded value, and the fence of the last guarded write to its key, of one moment.
-- KEYS 1 the program's key  2 its fence    ARGV 1 limit of the returned length
--      2 only of a hash: the field
-- answers {value, fence as text}; value: nil: none, an integer: the length of a longer one;
--         fence: 0: no guarded write, or forgotten
--@include fitting
local stored = redis.call('MGET', KEYS[2])[1]
local fence = stored and string.match(stored, '^([1-9]%d*) %S+ %d+$')
if stored and not fence or not stored and redis.call('EXISTS', KEYS[2]) == 1 then
  return redis.error_reply('WRONGTYPE the key of the fence does not hold a fence of dibs')
end
local kind = redis.call('TYPE', KEYS[1]).ok
if kind ~= 'none' and kind ~= (ARGV[2] and 'hash' or 'string') then
  return redis.error_reply('WRONGTYPE this key holds another kind of value')
end
local value
if ARGV[2] then
  value = redis.call('HGET', KEYS[1], ARGV[2])
else
  value = redis.call('GET', KEYS[1])
end
return { fitting(value, ARGV[1]), fence or '0' }
