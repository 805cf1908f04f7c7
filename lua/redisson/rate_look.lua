-- SPDX-License-Identifier: MIT
--@function no-writes
-- Tells a rate limiter's settings and what is left of it. Reads only.
-- KEYS as shared/rate.lua says
-- answers {rate, interval, keepAliveTime, type, permits left}, {-1} no rate is set
--@include rate
return { rate, interval, keep_alive, of_each and 1 or 0, free }
