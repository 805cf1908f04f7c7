-- SPDX-License-Identifier: MIT
--@function no-writes
-- Returns a rate limiter's settings and its permits left. Reads only.
-- KEYS as in shared/rate.lua
-- answers {rate, interval, keepAliveTime, type, permits left}, {-1} no rate is set
--@may_return rate
return { rate, interval, keep_alive, of_each and 1 or 0, free }
