--- What the user is told outside the conversation.

local M = {}

local function say(text, level)
  vim.notify('plimsoll: ' .. text, level, { title = 'Plimsoll' })
end

function M.info(text)
  say(text, vim.log.levels.INFO)
end

function M.warn(text)
  say(text, vim.log.levels.WARN)
end

--- Tells an error: a text, or what the daemon answered, with its hint.
--- @param fault string|table
function M.error(fault)
  if type(fault) == 'table' then
    local hint = type(fault.data) == 'table' and fault.data.hint
    fault = (fault.message or 'the call failed') .. (hint and ('\n' .. hint) or '')
  end
  say(fault, vim.log.levels.ERROR)
end

return M
