--- A few letters for a status line; empty while no session is shown. Loads nothing.

local M = {}

function M.text()
  local sessions = package.loaded['plimsoll.session']
  local session = sessions and sessions.current
  if not session then
    return ''
  end
  local parts = { 'plimsoll: ' .. session:activity() }
  local load = session.conversation.load
  if load and load > 0 then
    table.insert(parts, ('%d%%%%'):format(math.floor(load * 100 + 0.5)))
  end
  return table.concat(parts, ' ')
end

return M
