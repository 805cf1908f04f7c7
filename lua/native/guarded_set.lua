-- SPDX-License-Identifier: MIT
-- Sets a string, unless a newer fence was seen. Property S2.
-- KEYS, ARGV 1 to 4 as in shared/guard.lua    ARGV 5 value  6 ttl ms (0: none)
-- answers 1 written   0 fenced   2 a late copy of an acknowledged write; nothing done
--@may_return late
local kinds = { none = true, string = true }
--@may_return guard
if ARGV[6] == '0' then
  redis.call('SET', KEYS[1], ARGV[5])
else
  redis.call('SET', KEYS[1], ARGV[5], 'PX', ARGV[6])
end
remember(ARGV[6] == '0' and -1 or ARGV[6] + 0)
return 1
