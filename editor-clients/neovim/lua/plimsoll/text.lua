--- Texts of the daemon as lines of a buffer.

local M = {}

--- The lines of a text, whatever its line ends.
--- @param text string
--- @return string[]
function M.split(text)
  return vim.split((text:gsub('\r\n', '\n')), '\n', { plain = true })
end

return M
