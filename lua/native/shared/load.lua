-- SPDX-License-Identifier: MIT
-- Reads `key`: the lease, and the queue if the key is a hash. nil: the key has another form.
-- MGET returns nothing for a hash, without the error that GET would leave in the server's
-- statistics.
--@include read_value
local foreign = redis.error_reply('WRONGTYPE this key does not hold a lock of dibs')
local uses = { rw = 'read/write lock', sem = 'semaphore' }
-- The stored form of an unchanged `lease`: without a queue, a free one may have none.
local function lease_value(lease)
  return lease.value or '=' .. (lease.id ~= '' and lease.id or '......................:0:0')
end
local function load(key, client)
  local value = redis.call('MGET', key)[1]
  if value then
    return read_value(value)
  end
  if redis.call('EXISTS', key) == 0 then
    return { is_held = false, id = '', client = '', ask = 0, token = 0 }
  end
  local fields = redis.pcall('HMGET', key, 's', 'h', 'n', 'c' .. client)
  local head, next = tonumber(fields[2]), tonumber(fields[3])
  if fields[1] and head and next then
    local lease = read_value(fields[1])
    if lease then
      return lease, { head = head, next = next, mine = tonumber(fields[4]) }
    end
  end
  local use = uses[fields[1] and string.match(fields[1], '^%l+') or '']
  if use then
    foreign = redis.error_reply('WRONGTYPE this name is used as a ' .. use)
  elseif fields.err and not string.find(fields.err, 'WRONGTYPE Operation', 1, true) then
    foreign = fields                               -- the user has no right to it
  end
end
