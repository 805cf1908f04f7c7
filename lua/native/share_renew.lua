-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Extends shares; never shortens, never creates. A writer may become a reader here: then the
-- readers that wait for it are granted. S3 S9; F7; doc/design/protocol.md 9.
-- KEYS the resources, and with an era guard the era
-- ARGV for each: lease, `<ttl ms, 0: not extended> <mode wanted> <prefix> <name>`; last the
--      expected TIME (0: in doubt)
-- answers {now, then for each: waiters, remaining ms}. Waiters -1, 2: not there; later leases are
--         unknown
-- Of a token: the last argument is its limit.
if #ARGV % 2 == 0 then
  --@may_return late
end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local doubt = math.abs(now - ARGV[#ARGV]) > 250000 and 2 or 0
local key, prefix, name, quarantine
--@include era
--@include era_is_young
--@include share_load
--@include share_grant
--@include share_holder
--@include share_pump
local function lengthen(share, holder, ttl)
  local length = math.max(holder.length, ttl)
  local deadline = math.max(holder.deadline, now + ttl * 1000)
  local ahead = math.ceil((deadline - holder.token) / 1000)
  -- A doubt ends only with a renewal at least as long as the earlier lease.
  holder.flags = ttl < holder.length and holder.flags >= 2 and 2 or doubt
  holder.deadline, holder.length = holder.token + ahead * 1000, length
  holder.renewals = holder.renewals + 1
  if holder.flags < 2 and (share.earliest == 0 or holder.deadline < share.earliest) then
    share.earliest = holder.deadline
  end
end
local answer, count = { now }, (#ARGV - 1) / 2
for i = 1, count do
  key = KEYS[i]
  local ttl, mode, waiters, remaining = nil, nil, -1, 2
  ttl, mode, prefix, name = string.match(ARGV[2 * i], '^(%d+) (%a) (%S+) (.*)$')
  local id, token = string.match(ARGV[2 * i - 1], '^(.+):(%d+)$')
  local share, text = share_load(key, 'k' .. id)
  local holder = text and share_holder(id, text)
  if holder and holder.lease == ARGV[2 * i - 1] and
    not (now > holder.deadline and era_is_young(KEYS[count + 1])) then
    -- First a write that allocates nothing, so that a full server accepts the others.
    if share.kept == 0 then
      redis.call('PEXPIRE', key, math.max(retention(math.max(holder.length, ttl + 0)),
        redis.call('PTTL', key)))
    else
      redis.call('PERSIST', key)
    end
    if ttl + 0 > 0 then
      lengthen(share, holder, ttl + 0)
    end
    if holder.mode == 'w' and mode == 'r' then
      holder.mode, share.writes = 'r', 0
    end
    share_put(share, 'k' .. id, string.format('%s %.0f %.0f %.0f %.0f %.0f %d', holder.mode,
      holder.units, holder.token, math.ceil((holder.deadline - holder.token) / 1000),
      holder.length, holder.renewals, holder.flags))
    if share.head < share.next then
      quarantine = held_back(prefix)
      share_pump(share)
    end
    share_save(share)
    waiters, remaining = share.next - share.head, share_remaining(holder)
  end
  answer[2 * i], answer[2 * i + 1] = waiters, remaining
end
return answer
