-- SPDX-License-Identifier: MIT
-- Whether a lease is over by its deadline, for a client that does not doubt the server's
-- clock and has not watched the lease; doc/design/protocol.md 4. A deadline in doubt decides
-- nothing. Each of the two clients is within 500 ms of a common time, so a step of this
-- clock in between is less than 1 s.
local function is_past(lease)
  return lease.flags < 2 and now > lease.deadline + 1000000
end
