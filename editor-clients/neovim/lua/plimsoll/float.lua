--- A floating window with lines that cannot be changed.

local view = require('plimsoll.view')

local M = {}

--- Widest and narrowest window, and its largest share of the screen's lines.
local WIDEST, NARROWEST, SHARE = 90, 40, 0.6

--- The screen line of the window: above the conversation when there is room, so that it can be read, else in the middle.
local function row_of(height)
  local win = view.window()
  local above = win and vim.api.nvim_win_get_position(win)[1] - height - 2 or -1
  return above >= 0 and above or math.max(math.floor((vim.o.lines - height) / 2) - 1, 0)
end

--- @param lines string[]
--- @param options {title: string, footer?: string, enter: boolean, markdown?: boolean}
--- @return integer win
--- @return integer buf
function M.open(lines, options)
  local buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modifiable = false
  vim.bo[buf].bufhidden = 'wipe'
  if options.markdown and not pcall(vim.treesitter.start, buf, 'markdown') then
    vim.bo[buf].syntax = 'markdown'
  end
  local width = math.max(vim.fn.strdisplaywidth(options.footer or ''), NARROWEST)
  for _, line in ipairs(lines) do
    width = math.max(width, vim.fn.strdisplaywidth(line))
  end
  width = math.max(math.min(width, WIDEST, vim.o.columns - 4), 10)
  local place = {
    relative = 'editor',
    row = 0,
    col = math.max(math.floor((vim.o.columns - width) / 2) - 1, 0),
    width = width,
    height = 1,
    border = 'rounded',
    style = 'minimal',
    title = (' %s '):format(options.title),
    title_pos = 'center',
    footer = options.footer,
    footer_pos = options.footer and 'center' or nil,
  }
  local win = vim.api.nvim_open_win(buf, options.enter, place)
  local wrapping = vim.wo[win][0]
  wrapping.wrap, wrapping.linebreak, wrapping.breakindent = true, true, true
  -- How high it must be is known once it is there, with its wrapped lines.
  local wanted = vim.api.nvim_win_text_height(win, {}).all
  place.height = math.max(math.min(wanted, math.floor(vim.o.lines * SHARE)), 1)
  place.row = row_of(place.height)
  if wanted > place.height then
    place.title = (' %s · more below '):format(options.title)
  end
  vim.api.nvim_win_set_config(win, place)
  return win, buf
end

return M
