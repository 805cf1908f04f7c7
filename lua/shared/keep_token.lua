-- SPDX-License-Identifier: MIT
-- The next grant to a dibs client gets a higher token, unless the clock is set back, or
-- differs from those of other servers of a quorum, by more than these ten minutes.
local function keep_token(key, token)
  redis.call('SET', key, string.format('%.0f', token), 'PX', 600000)
end
