-- SPDX-License-Identifier: MIT
-- An ask that comes after its own `until` is refused, and so is one whose end is known, under
-- KEYS[2]: S8 S10. Works on `until_us` and `now`, and ends the script.
if until_us > 0 and now > until_us then
  return { 7, now }
end
if redis.call('EXISTS', KEYS[2]) == 1 then
  return { 5, now }
end
