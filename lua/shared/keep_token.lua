-- SPDX-License-Identifier: MIT
-- The next grant to anybody of ours gets a higher one, as long as the clock is not set back, nor
-- apart from those of other servers of a quorum, by more than these ten minutes.
local function keep_token(key, token)
  redis.call('SET', key, string.format('%.0f', token), 'PX', 600000)
end
