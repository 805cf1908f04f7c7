-- SPDX-License-Identifier: MIT
-- Grants from the head of the queue while the head fits; drops dead entries, and those that
-- want more permits than the limit; with a limit of 0 all stay. After a grant with which nothing
-- more fits, the next entry is not looked at: the next release does. `me`, the caller if it may
-- be queued, learns it from the reply only: returns its token if it was granted. At most 64
-- grants and 1000 entries: the next script continues. `quarantine`, set before: grants
-- nothing (era.lua).
--@include is_live
--@include share_entry
local function share_pump(share, me)
  if quarantine then
    return nil
  end
  local first, granted, own_token, is_full = share.head, 0, nil, false
  while share.head < share.next and share.head - first < 1000 and granted < 64 and
    not is_full do
    local waiter = share_entry(redis.call('HGET', share.key, 'w' .. share.head))
    if waiter then
      local is_me = me and waiter.is_waiter and waiter.id == me.id
      if is_me or is_live(waiter) then
        local it = is_me and me or waiter
        local token = token_above(share.token, it.floor)
        if share.kind == 'sem' and share.limit > 0 and it.units > share.limit then
          share.told[#share.told + 1] = { client = it.client, words = 'lost ' .. it.id .. ':0' }
        elseif not share_fits(share, it.mode, it.units) then
          break
        else
          share_grant(share, it.id, it.mode, it.units, it.ttl, token)
          granted = granted + 1
          is_full = share_is_full(share)
          if is_me then
            own_token = token
          elseif not it.polls then
            share.told[#share.told + 1] = { client = it.client, units = it.units,
              words = string.format('share%s%s:%.0f %.0f', proof_of(it.nonce), it.id, token,
                it.ttl) }
          end
        end
      end
      share.gone[#share.gone + 1] = 'w' .. share.head
      share.gone[#share.gone + 1] = 'c' .. waiter.id
    end
    share.head = share.head + 1
  end
  if share.head > first then
    share_put(share, 'h', share.head)
  end
  return own_token
end
