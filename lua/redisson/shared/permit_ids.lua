-- SPDX-License-Identifier: MIT
-- Permits of one call, so that it does not exceed Lua's limit of arguments.
local permits_step = 500
-- The limit of permits of one ask.
local permits_most = 10000

-- Ids of one ask's permits: they increase from the first, in their last four bytes.
local function permit_ids(first, from, count)
  local ids, stem = {}, string.sub(first, 1, 12)
  local a, b, c, d = string.byte(first, 13, 16)
  for i = 1, count do
    local word = (((a * 256 + b) * 256 + c) * 256 + d + from + i - 1) % 4294967296
    ids[i] = stem .. string.char(math.floor(word / 16777216), math.floor(word / 65536) % 256,
      math.floor(word / 256) % 256, word % 256)
  end
  return ids
end
