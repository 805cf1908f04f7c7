-- SPDX-License-Identifier: MIT
-- Reads a read/write lock or a semaphore under `key`, and collects the changes of this
-- script; doc/design/protocol.md 9. The state, field `s`:
--   rw   T used earliest ends first writes
--   sem  T used earliest ends first limit generation kept
--   new  as rw: only tombstones of cancelled asks so far
-- `earliest`: lower bound of the deadlines of holders not in doubt, 0: none; `ends`: of all;
-- `first`, C:K: the holder with the deadline `ends`. `kind` is else `none`, `lock` for a mutex, or
-- `other`. Further fields are returned unchanged.
local function share_load(key, ...)
  local fields = redis.pcall('HMGET', key, 's', 'h', 'n', ...)
  local share = { key = key, kind = 'none', token = 0, used = 0, earliest = 0, ends = 0,
    first = '-', writes = 0, limit = 0, generation = 0, kept = 0, head = 1, next = 1,
    length = 0, gone = {}, removed = {}, set = {}, told = {} }
  local value = fields[1]
  if fields.err and not string.find(fields.err, 'WRONGTYPE Operation', 1, true) then
    share.refused = fields                         -- the user has no right to it
  end
  if not value then
    value = fields.err and redis.call('MGET', key)[1]
    if value or redis.call('EXISTS', key) == 1 then
      share.kind = 'other'
    end
  end
  if value then
    local kind, token, used, earliest, ends, first, rest = string.match(value,
      '^(%l+) (%d+) (%d+) (%d+) (%d+) (%S+) (.+)$')
    local limit, generation, kept = string.match(rest or '', '^(%d+) (%d+) (%d)$')
    if fields.err or not kind or kind ~= 'sem' and not tonumber(rest) or
      kind == 'sem' and not kept then
      share.kind = string.find(value, '^=?[^:= ]+:%d+:%d+') and 'lock' or 'other'
    else
      share.kind, share.token, share.used, share.earliest, share.ends, share.first = kind,
        token + 0, used + 0, earliest + 0, ends + 0, first
      share.is_stored = true
      if kind == 'sem' then
        share.limit, share.generation, share.kept = limit + 0, generation + 0, kept + 0
      else
        share.writes = rest + 0
      end
      if fields[2] and fields[3] then
        share.head, share.next, share.has_queue = fields[2] + 0, fields[3] + 0, true
      end
    end
  end
  return share, fields[4], fields[5]
end
local function share_refuse(share)
  local uses = { lock = 'as a lock', rw = 'as a read/write lock', sem = 'as a semaphore' }
  if share.kind == 'other' and share.refused then
    return share.refused
  end
  return redis.error_reply('WRONGTYPE this name is used ' ..
    (uses[share.kind] or 'by something that is not of dibs'))
end
