-- SPDX-License-Identifier: MIT
-- Refuses an ask after its own `until`, and one whose end is stored under KEYS[2]: S8 S10.
-- Uses `until_us` and `now`, and ends the script.
if until_us > 0 and now > until_us then
  return { 7, now }
end
if redis.call('EXISTS', KEYS[2]) == 1 then
  return { 5, now }
end
