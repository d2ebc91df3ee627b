--- Tells the daemon what this Neovim shows: after a moment without a change, and only what is new.

local client = require('plimsoll.client')
local config = require('plimsoll.config')
local sessions = require('plimsoll.session')

local M = {}

--- Files that are told, the most recent first.
local MOST_FILES = 100

local told
local timer

local function is_file(buf)
  return vim.bo[buf].buftype == '' and vim.api.nvim_buf_get_name(buf) ~= ''
end

--- The selected lines of the window that has the focus, or nil.
local function selection()
  local mode = vim.fn.mode()
  if mode == 'v' or mode == 'V' or mode == '\22' then
    local from, to = vim.fn.line('v'), vim.fn.line('.')
    return { start = math.min(from, to), ['end'] = math.max(from, to) }
  end
end

--- What is open: the file that has the focus first, then those used last.
function M.files()
  local current = vim.api.nvim_get_current_buf()
  local infos = vim.tbl_filter(function(info)
    return is_file(info.bufnr) and (info.listed == 1 or #info.windows > 0)
  end, vim.fn.getbufinfo({ bufloaded = 1 }))
  table.sort(infos, function(a, b)
    if (a.bufnr == current) ~= (b.bufnr == current) then
      return a.bufnr == current
    elseif a.lastused ~= b.lastused then
      return a.lastused > b.lastused
    end
    return a.bufnr < b.bufnr
  end)
  return vim.tbl_map(function(info)
    local win = info.windows[1]
    local focused = info.bufnr == current
    return {
      path = info.name,
      totalLines = info.linecount,
      open = true,
      focused = focused,
      unsaved = info.changed == 1,
      cursorLine = focused and vim.fn.line('.') or win and vim.api.nvim_win_get_cursor(win)[1] or nil,
      selection = focused and selection() or nil,
    }
  end, vim.list_slice(infos, 1, MOST_FILES))
end

local function push()
  local session = sessions.current
  if not session or client.state ~= 'ready' then
    return
  end
  local state = { project = session.project, files = M.files() }
  if vim.deep_equal(state, told) then
    return
  end
  told = state
  client.try('editor/state', state, function(fault)
    if fault then
      told = nil
    end
  end)
end

--- Something may have changed.
local function changed()
  timer:stop()
  timer:start(config.get().editor_delay, 0, vim.schedule_wrap(push))
end

--- Begins to tell.
function M.start()
  if timer or not config.get().editor_state then
    return
  end
  timer = assert(vim.uv.new_timer())
  vim.api.nvim_create_autocmd({
    'BufEnter',
    'BufDelete',
    'BufWritePost',
    'BufModifiedSet',
    'CursorMoved',
    'CursorMovedI',
    'ModeChanged',
    'TextChanged',
    'InsertLeave',
  }, { group = vim.api.nvim_create_augroup('plimsoll-editor', {}), callback = changed })
  client.listen({
    ready = function()
      -- The daemon forgot it with the connection.
      told = nil
      changed()
    end,
  })
  changed()
end

return M
