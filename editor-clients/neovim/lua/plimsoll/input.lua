--- The window below the conversation in which a prompt is written.

local config = require('plimsoll.config')
local view = require('plimsoll.view')

local M = {}

local buf
--- What goes beside the next prompt.
local attachments = {}
--- What is called with the prompt's text, its attachments, and what to call when it was refused.
M.on_send = function() end

local function name(attachment)
  if attachment.lines then
    local path = vim.fn.fnamemodify(attachment.path, ':.')
    return ('%s:%d-%d'):format(path, attachment.lines.start, attachment.lines['end'])
  end
  return attachment.name or attachment.path
end

local function window()
  local win = buf and vim.fn.win_findbuf(buf) or {}
  for _, candidate in ipairs(win) do
    if vim.api.nvim_win_get_tabpage(candidate) == vim.api.nvim_get_current_tabpage() then
      return candidate
    end
  end
end

local function draw_bar()
  local win = window()
  if not win then
    return
  end
  local keys = config.get().keys
  local bar = (' Prompt  %%#Comment#%s sends, %s while writing'):format(
    keys.send or ':w',
    keys.send_insert or keys.send or ':w'
  )
  if #attachments > 0 then
    bar = ' With ' .. table.concat(vim.tbl_map(name, attachments), ', '):gsub('%%', '%%%%')
  end
  vim.wo[win][0].winbar = bar
end

--- Sends what is written.
function M.send()
  local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\n')
  if vim.trim(text) == '' then
    return
  end
  vim.cmd.stopinsert()
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, {})
  vim.bo[buf].modified = false
  local with = attachments
  attachments = {}
  draw_bar()
  M.on_send(text, with, function()
    -- Nothing that was written is lost.
    if table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\n') == '' then
      vim.api.nvim_buf_set_lines(buf, 0, -1, false, vim.split(text, '\n', { plain = true }))
      vim.bo[buf].modified = false
      attachments = with
      draw_bar()
    end
  end)
end

local function make()
  buf = vim.api.nvim_create_buf(false, true)
  view.name(buf, 'plimsoll://prompt')
  -- So that `:w` sends, too.
  vim.bo[buf].buftype = 'acwrite'
  vim.bo[buf].bufhidden = 'hide'
  vim.bo[buf].swapfile = false
  vim.bo[buf].filetype = 'plimsoll-prompt'
  vim.api.nvim_create_autocmd('BufWriteCmd', { buffer = buf, callback = M.send })
  -- A draft is no reason to keep Neovim from ending.
  vim.api.nvim_create_autocmd({ 'TextChanged', 'TextChangedI', 'TextChangedP' }, {
    buffer = buf,
    callback = function()
      vim.bo[buf].modified = false
    end,
  })
  -- Without the conversation the prompt is of no use.
  vim.api.nvim_create_autocmd('WinClosed', {
    group = vim.api.nvim_create_augroup('plimsoll-prompt', {}),
    callback = vim.schedule_wrap(function()
      if window() and not view.window() and #vim.api.nvim_tabpage_list_wins(0) > 1 then
        M.close()
      end
    end),
  })
  local keys = config.get().keys
  local function map(mode, key, action, description)
    if key then
      vim.keymap.set(mode, key, action, { buffer = buf, desc = 'Plimsoll: ' .. description })
    end
  end
  map('n', keys.send, M.send, 'send the prompt')
  map({ 'n', 'i' }, keys.send_insert, M.send, 'send the prompt')
  for key, action in pairs({ stop = 'stop', close = 'close', answer = 'answer', help = 'help' }) do
    map('n', keys[key], function()
      require('plimsoll')[action]()
    end, action)
  end
end

--- Whether this is the prompt's buffer.
function M.is(candidate)
  return candidate == buf
end

--- Opens the window below the conversation and goes there.
--- @param more? table[] attachments of the next prompt
function M.open(more)
  if not (buf and vim.api.nvim_buf_is_loaded(buf)) then
    make()
  end
  vim.list_extend(attachments, more or {})
  local win = window()
  local above = view.open()
  if not win then
    win = vim.api.nvim_open_win(buf, true, {
      win = above,
      split = 'below',
      height = config.get().window.prompt,
    })
    local options = vim.wo[win][0]
    options.winfixheight, options.wrap, options.linebreak = true, true, true
    options.number, options.relativenumber, options.signcolumn, options.foldcolumn = false, false, 'no', '0'
  end
  vim.api.nvim_set_current_win(win)
  draw_bar()
end

--- Closes the window; a draft stays.
function M.close()
  local win = window()
  if win then
    vim.api.nvim_win_close(win, true)
  end
end

return M
