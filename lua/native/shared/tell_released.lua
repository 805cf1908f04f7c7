-- SPDX-License-Identifier: MIT
-- Notifies the client that was granted `lease`, which its token has ended. `lost` has it look at
-- once; `released`, which versions before 0.6 do not know, only names the reason, and comes first.
local function tell_released(client, lease)
  tell(client, 'released ' .. lease .. ' ' .. name)
  tell(client, 'lost ' .. lease .. ' ' .. name)
end
