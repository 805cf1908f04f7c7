-- SPDX-License-Identifier: MIT
--@function no-writes
-- Tells what is left of a latch, and what became of those before. Reads only.
-- KEYS 1 the count  2 the hash beside it, as shared/latch.lua says
-- answers {count as text, '' where there is none, when zero was reached last, when it was
--          deleted; both in microseconds as text, '' if it was not}
local marks = redis.call('HMGET', KEYS[2], 'z', 'd')
return { redis.call('GET', KEYS[1]) or '', marks[1] or '', marks[2] or '' }
