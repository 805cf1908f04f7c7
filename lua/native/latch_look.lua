-- SPDX-License-Identifier: MIT
--@function no-writes
-- Returns the count of a latch, and the end of earlier ones. Reads only.
-- KEYS 1 the count  2 the hash of shared/latch.lua
-- answers {count as text, '' if not armed, when zero was reached last, when it was deleted; both
--         in microseconds as text, '' if never}
--@may_return latch_count
local marks = redis.call('HMGET', KEYS[2], 'z', 'd')
return { left or '', marks[1] or '', marks[2] or '' }
