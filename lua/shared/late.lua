-- SPDX-License-Identifier: MIT
-- Refuses a request whose caller has given up: S8; doc/design/protocol.md 6. Nothing has been
-- done before.
-- ARGV, the last, is taken off: the TIME in us after which nothing may be done (0: no limit)
do
  local limit = table.remove(ARGV) + 0
  local time = redis.call('TIME')
  local now = time[1] * 1000000 + time[2]
  if limit > 0 and now > limit then
    return redis.error_reply(string.format('LATE %.0f is after the limit of this request', now))
  end
end
