-- SPDX-License-Identifier: MIT
-- Adds what one client did since its last report to the totals of the fleet, and its entries
-- to the history. doc/design/protocol.md 22. The same report twice counts once. A key of
-- another kind is left unchanged, and the rest is done.
-- KEYS 1 the client's registration; in Cluster also a mark in this slot: `report`, `gauges`
--      2 to n + 1 totals of classes
--      then, or none of them: the index of classes, the index of clients, the history
-- ARGV 1 number of the report  2 ms that KEYS[1] lives at least, 0: the last report, no mark
--      3 gauges  4 n  5 to n + 4 what to add: `<field>=<key>:<count> <key>:<count>;...`
--      n + 5 C  6 entries kept  7 '1' the last report  8 host  9 pid  10 program  11 note
--      12 number of class names, the names, then 11 arguments for each entry
-- answers { 1 added, 0 it was before; the first error that was passed over, or '' }
local seen = tonumber(redis.call('HGET', KEYS[1], 'report') or 0)
if seen >= ARGV[1] + 0 then
  return { 0, '' }
end
local now = redis.call('TIME')
now = now[1] * 1000000 + now[2]
local fault = ''
local function try(...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err then
    fault = fault == '' and reply.err or fault
    return nil
  end
  return reply
end
-- First: on a full server it is refused, and all of the report with it.
if ARGV[2] ~= '0' then
  redis.call('HSET', KEYS[1], 'report', ARGV[1], 'gauges', ARGV[3])
  if redis.call('PTTL', KEYS[1]) < ARGV[2] + 0 then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
  end
elseif redis.call('EXISTS', KEYS[1]) == 1 then
  redis.call('HSET', KEYS[1], 'report', ARGV[1], 'gauges', ARGV[3])
end
local function sum_of(old, more)
  local counts, order = {}, {}
  for _, counted in ipairs({ old, more }) do
    for key, n in string.gmatch(counted, '(%w+):(%d+)') do
      if not counts[key] then
        order[#order + 1] = key
      end
      counts[key] = (counts[key] or 0) + n
    end
  end
  for i, key in ipairs(order) do
    order[i] = key .. string.format(':%.0f', counts[key])
  end
  return table.concat(order, ' ')
end
local function add(key, packed)
  local fields, more = { 'since' }, {}
  for field, counted in string.gmatch(packed, '(%w+)=([^;]*)') do
    fields[#fields + 1] = field
    more[#fields] = counted
  end
  local old = try('HMGET', key, unpack(fields))
  if not old then
    return
  end
  local pairs_of = { 'HSET', key }
  if not old[1] then
    pairs_of = { 'HSET', key, 'version', '1', 'since', string.format('%.0f', now) }
  end
  for i = 2, #fields do
    pairs_of[#pairs_of + 1] = fields[i]
    pairs_of[#pairs_of + 1] = sum_of(old[i] or '', more[i])
  end
  if #pairs_of > 2 then
    try(unpack(pairs_of))
  end
  try('PEXPIRE', key, 86400000)
end
local n = ARGV[4] + 0
for i = 1, n do
  add(KEYS[i + 1], ARGV[i + 4])
end
local classes, clients, history = KEYS[n + 2], KEYS[n + 3], KEYS[n + 4]
if not classes then
  return { 1, fault }
end
local ms, at = math.floor(now / 1000), n + 13
for i = at, at + ARGV[n + 12] - 1 do
  try('ZADD', classes, ms, ARGV[i])
end
at = at + ARGV[n + 12]
try('ZREMRANGEBYSCORE', classes, '-inf', ms - 86400000)
try('PEXPIRE', classes, 86400000)
if ARGV[n + 7] == '1' then
  try('ZREM', clients, ARGV[n + 5])
else
  try('ZADD', clients, ms, ARGV[n + 5])
end
try('ZREMRANGEBYSCORE', clients, '-inf', ms - 3600000)
try('PEXPIRE', clients, 86400000)
for i = at, #ARGV, 11 do
  try('XADD', history, 'MAXLEN', '~', ARGV[n + 6], '*', 'client', ARGV[n + 5],
    'number', ARGV[i], 'at', string.format('%.0f', now - ARGV[i + 1]), 'end', ARGV[i + 2],
    'name', ARGV[i + 3], 'class', ARGV[i + 4], 'kind', ARGV[i + 5], 'mode', ARGV[i + 6],
    'lease', ARGV[i + 7], 'fence', ARGV[i + 8], 'waited', ARGV[i + 9], 'held', ARGV[i + 10],
    'host', ARGV[n + 8], 'pid', ARGV[n + 9], 'program', ARGV[n + 10], 'note', ARGV[n + 11])
end
if #ARGV >= at then
  try('PEXPIRE', history, 604800000)
end
return { 1, fault }
