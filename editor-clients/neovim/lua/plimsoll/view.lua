--- The buffer of a conversation, and the windows that show it. It owns every line: nothing else may change them.

local config = require('plimsoll.config')
local sessions = require('plimsoll.session')

local M = {}

local ns = vim.api.nvim_create_namespace('plimsoll')
local FOLD = "v:lua.require'plimsoll.view'.fold(v:lnum)"

--- By buffer.
local views = {}

--- @class plimsoll.View
--- @field buf integer
--- @field session plimsoll.Session
--- @field shown integer[] how many lines of each block stand in the buffer
--- @field starts integer[] the line before each block's first
--- @field hint integer the block that was looked for last
local View = {}
View.__index = View

local function highlights()
  for name, link in pairs({
    PlimsollUser = 'Title',
    PlimsollAgent = 'Title',
    PlimsollPrompt = 'CursorLine',
    PlimsollTool = 'Comment',
    PlimsollRunning = 'DiagnosticInfo',
    PlimsollAsk = 'DiagnosticWarn',
    PlimsollFailed = 'DiagnosticError',
    PlimsollReasoning = 'Comment',
    PlimsollNote = 'Comment',
  }) do
    vim.api.nvim_set_hl(0, name, { link = link, default = true })
  end
end

--- The line (from 0) at which a block begins.
function View:start(index)
  for i = #self.starts + 1, index do
    self.starts[i] = i == 1 and 1 or self.starts[i - 1] + self.shown[i - 1]
  end
  return self.starts[index]
end

--- The number of the block that has this line (from 1), and the line within it (from 1).
function View:at(lnum)
  -- Folds are asked about line by line: most often it is the block of the line before, or the next.
  for index = self.hint, math.min(self.hint + 1, #self.shown) do
    local start = self:start(index)
    if start < lnum and lnum <= start + self.shown[index] then
      self.hint = index
      return index, lnum - start
    end
  end
  local low, high = 1, #self.shown
  while low < high do
    local middle = math.ceil((low + high) / 2)
    if self:start(middle) < lnum then
      low = middle
    else
      high = middle - 1
    end
  end
  if high >= 1 and self:start(low) < lnum then
    self.hint = low
    return low, lnum - self:start(low)
  end
end

--- The block of this line (from 1).
function View:block(lnum)
  return self.session.conversation.blocks[self:at(lnum)]
end

--- 'foldexpr' of a conversation.
function M.fold(lnum)
  local view = views[vim.api.nvim_get_current_buf()]
  local index, line = nil, nil
  if view then
    index, line = view:at(lnum)
  end
  local block = index and view.session.conversation.blocks[index]
  if not block or not block.fold or line < block.heads then
    return '0'
  end
  return line == block.heads and '>1' or '1'
end

local function windows(buf)
  return vim.fn.win_findbuf(buf)
end

--- Marks the lines of a block from its line `from` on.
function View:highlight(index, block, from)
  local start = self:start(index)
  for i = from, #block.lines do
    local row, line = start + i - 1, block.lines[i]
    if block.kind == 'user' and (i > 1 or line ~= '') then
      vim.api.nvim_buf_set_extmark(self.buf, ns, row, 0, { line_hl_group = 'PlimsollPrompt', priority = 50 })
    elseif i <= block.heads and block.group and line ~= '' then
      local mark = { end_col = #line, hl_group = block.group, priority = 200 }
      vim.api.nvim_buf_set_extmark(self.buf, ns, row, 0, mark)
    end
  end
end

--- Brings a block's lines into the buffer.
function View:draw_block(index)
  local block = self.session.conversation.blocks[index]
  local from = block.dirty
  if not from then
    return
  end
  block.dirty = nil
  local start, shown = self:start(index), self.shown[index]
  from = math.min(from, shown + 1)
  -- What folds is asked while the lines change: the books come first.
  self.shown[index] = #block.lines
  for i = #self.starts, index + 1, -1 do
    self.starts[i] = nil
  end
  vim.api.nvim_buf_set_lines(self.buf, start + from - 1, start + shown, false, vim.list_slice(block.lines, from))
  vim.api.nvim_buf_clear_namespace(self.buf, ns, start + from - 1, start + #block.lines)
  self:highlight(index, block, from)
end

--- Brings the blocks after those that are shown into the buffer, all at once: a session that is opened has thousands.
function View:draw_new()
  local blocks = self.session.conversation.blocks
  local first = #self.shown + 1
  local lines = {}
  for index = first, #blocks do
    self.shown[index] = #blocks[index].lines
    blocks[index].dirty = nil
    vim.list_extend(lines, blocks[index].lines)
  end
  local start = self:start(first)
  vim.api.nvim_buf_set_lines(self.buf, start, start, false, lines)
  for index = first, #blocks do
    self:highlight(index, blocks[index], 1)
  end
end

--- Brings everything that is new into the buffer. A window whose cursor is on the last line stays at the end.
function View:draw()
  local conversation = self.session.conversation
  local indices = conversation:take()
  if #indices > 0 or #self.shown < #conversation.blocks then
    local last = vim.api.nvim_buf_line_count(self.buf)
    local following = vim.tbl_filter(function(win)
      return vim.api.nvim_win_get_cursor(win)[1] >= last
    end, windows(self.buf))
    vim.bo[self.buf].modifiable = true
    for _, index in ipairs(indices) do
      if index <= #self.shown then
        self:draw_block(index)
      end
    end
    if #conversation.blocks > #self.shown then
      self:draw_new()
    end
    vim.bo[self.buf].modifiable = false
    vim.bo[self.buf].modified = false
    last = vim.api.nvim_buf_line_count(self.buf)
    for _, win in ipairs(following) do
      vim.api.nvim_win_set_cursor(win, { last, 0 })
    end
  end
  self:draw_bar()
end

local function percent(text)
  return (text:gsub('%%', '%%%%'))
end

--- What stands above the conversation.
function View:bar()
  local info = self.session.conversation.info
  local title = info.title ~= '' and info.title or 'New session'
  local parts = { info.mode or '', self.session:activity() }
  if (self.session.conversation.load or 0) > 0 then
    table.insert(parts, ('%d%% full'):format(math.floor(self.session.conversation.load * 100 + 0.5)))
  end
  return (' %%<%s%%=%s '):format(percent((title or ''):gsub('%s+', ' ')), percent(table.concat(parts, ' · ')))
end

function View:draw_bar()
  local bar = self:bar()
  for _, win in ipairs(windows(self.buf)) do
    if vim.wo[win].winbar ~= bar then
      vim.wo[win][0].winbar = bar
    end
  end
end

--- Options of a window that shows a conversation; they stay with its buffer.
function View:dress(win)
  local options = vim.wo[win][0]
  options.wrap, options.linebreak, options.breakindent = true, true, true
  options.number, options.relativenumber, options.list, options.spell = false, false, false, false
  options.signcolumn, options.foldcolumn, options.cursorline = 'no', '1', false
  options.foldmethod, options.foldexpr, options.foldtext = 'expr', FOLD, ''
  options.foldlevel, options.foldenable = 0, true
  options.fillchars = 'fold: ,eob: '
  self:draw_bar()
end

--- Moves to the prompt before or after the cursor.
function View:jump(step)
  local lnum = vim.api.nvim_win_get_cursor(0)[1]
  local index = self:at(lnum) or 0
  local blocks = self.session.conversation.blocks
  index = index + step
  while blocks[index] do
    if blocks[index].kind == 'user' and self.shown[index] > 0 then
      return vim.api.nvim_win_set_cursor(0, { self:start(index) + 1, 0 })
    end
    index = index + step
  end
end

function View:map()
  local keys = config.get().keys
  local actions = {
    stop = { 'stop the turn', 'stop' },
    write = { 'write a prompt', 'open' },
    answer = { 'answer the question that waits', 'answer' },
    diff = { 'show the change under the cursor', 'diff' },
    close = { 'close', 'close' },
    help = { 'help', 'help' },
  }
  for name, action in pairs(actions) do
    if keys[name] then
      vim.keymap.set('n', keys[name], function()
        require('plimsoll')[action[2]]()
      end, { buffer = self.buf, desc = 'Plimsoll: ' .. action[1] })
    end
  end
  for name, step in pairs({ next = 1, previous = -1 }) do
    if keys[name] then
      vim.keymap.set('n', keys[name], function()
        self:jump(step)
      end, { buffer = self.buf, desc = ('Plimsoll: %s prompt'):format(name) })
    end
  end
end

--- Names a buffer. One that has the name and was deleted by the user goes.
function M.name(buf, name)
  for _, other in ipairs(vim.api.nvim_list_bufs()) do
    if other ~= buf and vim.api.nvim_buf_get_name(other) == name then
      vim.api.nvim_buf_delete(other, { force = true })
    end
  end
  vim.api.nvim_buf_set_name(buf, name)
end

--- The first line: what the keys are.
local function intro()
  local keys = config.get().keys
  local parts = { 'Plimsoll' }
  for _, key in ipairs({ { keys.write, 'writes' }, { keys.stop, 'stops' }, { keys.help, 'all keys' } }) do
    if key[1] then
      table.insert(parts, ('%s %s'):format(key[1], key[2]))
    end
  end
  return table.concat(parts, ' · ')
end

--- Makes the buffer of a session.
--- @return plimsoll.View
function M.new(session)
  highlights()
  local buf = vim.api.nvim_create_buf(false, true)
  local view = setmetatable({ buf = buf, session = session, shown = {}, starts = {}, hint = 1 }, View)
  views[buf] = view
  M.name(buf, 'plimsoll://' .. session.id)
  vim.bo[buf].bufhidden = 'hide'
  vim.bo[buf].undolevels = -1
  vim.bo[buf].swapfile = false
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, { intro() })
  vim.api.nvim_buf_set_extmark(buf, ns, 0, 0, { line_hl_group = 'PlimsollNote' })
  vim.bo[buf].modifiable = false
  vim.bo[buf].filetype = 'plimsoll'
  vim.treesitter.language.register('markdown', 'plimsoll')
  if not pcall(vim.treesitter.start, buf, 'markdown') then
    vim.bo[buf].syntax = 'markdown'
  end
  local group = vim.api.nvim_create_augroup('plimsoll-view-' .. buf, {})
  vim.api.nvim_create_autocmd('BufWinEnter', {
    group = group,
    buffer = buf,
    callback = function()
      view:dress(vim.api.nvim_get_current_win())
    end,
  })
  -- A user may delete the buffer; the next frame makes another.
  vim.api.nvim_create_autocmd('BufUnload', {
    group = group,
    buffer = buf,
    callback = function()
      views[buf] = nil
      if M.current == view then
        M.current = nil
      end
      vim.api.nvim_del_augroup_by_id(group)
    end,
  })
  view:map()
  return view
end

--- The view of the session that is shown.
--- @type plimsoll.View?
M.current = nil

--- The window of this tab page that shows the conversation, or nil.
function M.window()
  for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if views[vim.api.nvim_win_get_buf(win)] then
      return win
    end
  end
end

--- Shows the view of the current session in the window of this tab page, and opens one when there is none. The window
--- that has the focus keeps it.
--- @return integer? window
function M.open()
  local view = M.current
  if not view then
    return nil
  end
  local win = M.window()
  if win then
    if vim.api.nvim_win_get_buf(win) ~= view.buf then
      vim.api.nvim_win_set_buf(win, view.buf)
      view:dress(win)
    end
    return win
  end
  local window = config.get().window
  local position = window.position
  if position == 'auto' then
    position = vim.o.columns * (1 - window.size.upright) >= 80 and 'right' or 'bottom'
  end
  if position == 'tab' then
    vim.cmd.tabnew()
    vim.bo.bufhidden = 'wipe'
    win = vim.api.nvim_get_current_win()
    vim.api.nvim_win_set_buf(win, view.buf)
  else
    local upright = position == 'right' or position == 'left'
    local whole, size = vim.o.lines, window.size.flat
    if upright then
      whole, size = vim.o.columns, window.size.upright
    end
    size = math.floor(size < 1 and whole * size or size)
    win = vim.api.nvim_open_win(view.buf, false, {
      win = -1,
      split = ({ right = 'right', left = 'left', top = 'above', bottom = 'below' })[position] or 'right',
      [upright and 'width' or 'height'] = math.max(size, 1),
    })
  end
  view:dress(win)
  vim.api.nvim_win_set_cursor(win, { vim.api.nvim_buf_line_count(view.buf), 0 })
  return win
end

--- The block under the cursor, in a conversation.
function M.block_here()
  local view = views[vim.api.nvim_get_current_buf()]
  return view and view:block(vim.api.nvim_win_get_cursor(0)[1])
end

--- Sees that the current session has a view, and that it takes the place of the one before.
function M.ensure()
  local session, before = sessions.current, M.current
  if not session or (before and before.session == session) then
    return
  end
  M.current = M.new(session)
  if before then
    for _, win in ipairs(windows(before.buf)) do
      vim.api.nvim_win_set_buf(win, M.current.buf)
      M.current:dress(win)
    end
    vim.api.nvim_buf_delete(before.buf, { force = true })
  end
  M.current:draw()
end

sessions.watch(function()
  M.ensure()
  if M.current then
    M.current:draw()
  end
end)

return M
