-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Takes back the permits of a request whose call has ended.
-- KEYS as in shared/rate.lua    ARGV as rate_acquire
-- answers {1} taken back   {0} it had nothing   {-1} no rate is set
--@may_return rate
local entry = entry_of(ARGV[2], ARGV[1])
local at = redis.call('ZSCORE', permits_key, entry)
if not at or at + interval <= now then
  return { 0 }
end
redis.call('ZREM', permits_key, entry)
write_value(room + ARGV[1] - remove_gone())
live_on()
return { 1 }
