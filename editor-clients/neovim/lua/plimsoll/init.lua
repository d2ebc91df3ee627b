--- What users call: the commands of `plugin/plimsoll.lua` and the <Plug> maps lead here.

local M = {}

--- Bytes of text that the daemon takes beside a prompt.
local MOST_TEXT = 262144

--- Sets options. Not needed when the defaults are right, or `vim.g.plimsoll` has them.
--- @param options? table
function M.setup(options)
  require('plimsoll.config').setup(options)
end

--- A few letters for a status line.
--- @return string
function M.statusline()
  return require('plimsoll.statusline').text()
end

--- Reads files again that were changed on the disk. Those with unsaved changes are left to Neovim's own question, which
--- would stop the user here.
local function reload()
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == '' and not vim.bo[buf].modified then
      pcall(vim.cmd.checktime, { args = { tostring(buf) } })
    end
  end
end

local started = false

--- Loads what works by itself once a conversation is there.
local function start()
  if started then
    return
  end
  started = true
  require('plimsoll.view')
  require('plimsoll.permission')
  require('plimsoll.editor').start()
  require('plimsoll.input').on_send = function(text, attachments, refused)
    M.with_session(function(session)
      session:prompt(text, attachments, refused)
    end)
  end
  require('plimsoll.session').watch(function(session)
    -- The agent may have written what is open here.
    if session and session.conversation.edited then
      session.conversation.edited = nil
      reload()
    end
    if package.loaded['plimsoll.statusline'] then
      vim.cmd.redrawstatus()
    end
  end)
end

local pending

--- Calls back with the session that is shown, after making one when there is none.
function M.with_session(callback)
  start()
  local sessions = require('plimsoll.session')
  if sessions.current and not sessions.current.gone then
    return callback(sessions.current)
  elseif pending then
    table.insert(pending, callback)
    return
  end
  pending = { callback }
  sessions.create(require('plimsoll.config').roots(), function(session)
    local waiting = pending or {}
    pending = nil
    for _, call in ipairs(session and waiting or {}) do
      call(session)
    end
  end)
end

--- Opens the conversation and goes to the prompt.
--- @param attachments? table[]
function M.open(attachments)
  M.with_session(function()
    -- The view of a new session is made with its first frame.
    require('plimsoll.view').ensure()
    require('plimsoll.input').open(attachments)
  end)
end

function M.close()
  require('plimsoll.input').close()
  local view = require('plimsoll.view')
  local win = view.window()
  if win and #vim.api.nvim_tabpage_list_wins(0) > 1 then
    vim.api.nvim_win_close(win, true)
  elseif win then
    vim.cmd.enew()
  end
end

function M.toggle()
  start()
  if require('plimsoll.view').window() then
    M.close()
  else
    M.open()
  end
end

--- The lines of a range as an attachment: by their place, or as text when the file on the disk has others.
local function lines_of(range)
  local path = vim.api.nvim_buf_get_name(0)
  if path ~= '' and vim.bo.buftype == '' and not vim.bo.modified and vim.fn.filereadable(path) == 1 then
    return { kind = 'file', path = path, lines = { start = range[1], ['end'] = range[2] } }
  end
  local text = table.concat(vim.api.nvim_buf_get_lines(0, range[1] - 1, range[2], false), '\n')
  if #text > MOST_TEXT then
    require('plimsoll.notify').error(
      ('these lines have %d bytes; at most %d go beside a prompt'):format(#text, MOST_TEXT)
    )
    return nil
  end
  local name = path ~= '' and vim.fn.fnamemodify(path, ':.') or 'unnamed buffer'
  return { kind = 'text', name = ('%s:%d-%d'):format(name, range[1], range[2]), text = text }
end

--- `:[range]Plimsoll [text]`.
function M.command(text, given)
  local attachments = {}
  if given.range > 0 then
    local lines = lines_of({ given.line1, given.line2 })
    if not lines then
      return
    end
    attachments = { lines }
  end
  if not text then
    return M.open(attachments)
  end
  M.with_session(function(session)
    local view = require('plimsoll.view')
    view.ensure()
    view.open()
    session:prompt(text, attachments)
  end)
end

--- Calls back with the session that is shown, or says that there is none.
local function shown(callback)
  local sessions = package.loaded['plimsoll.session']
  if sessions and sessions.current then
    return callback(sessions.current)
  end
  require('plimsoll.notify').info('no session is shown; :Plimsoll begins one')
end

function M.stop()
  shown(function(session)
    session:stop()
  end)
end

function M.steer(text)
  shown(function(session)
    session:steer(text)
  end)
end

function M.new()
  start()
  require('plimsoll.session').create(require('plimsoll.config').roots(), function(session)
    if session then
      M.open()
    end
  end)
end

--- Sessions that are offered at once.
local PAGE = 100

local function describe(info)
  local title = info.title ~= '' and info.title or '(no title)'
  local state = info.state ~= 'idle' and (' · ' .. tostring(info.state)) or ''
  if info.workspaceMissing then
    state = state .. ' · its folder is gone'
  end
  return ('%s  %s%s'):format(os.date('%Y-%m-%d %H:%M', math.floor((info.updatedAt or 0) / 1000)), title, state)
end

local function choose_session(project, cursor)
  if not project then
    return
  end
  local client, notify = require('plimsoll.client'), require('plimsoll.notify')
  client.call('session/list', { project = project.key, limit = PAGE, cursor = cursor }, function(fault, page)
    if fault then
      return notify.error(fault)
    elseif #page.sessions == 0 then
      return notify.info('this project has no sessions yet; :Plimsoll begins one')
    end
    local choices = vim.list_extend({}, page.sessions)
    if page.nextCursor then
      table.insert(choices, { more = page.nextCursor })
    end
    vim.ui.select(choices, {
      prompt = 'Session',
      kind = 'plimsoll-session',
      format_item = function(choice)
        return choice.more and 'Older sessions…' or describe(choice)
      end,
    }, function(choice)
      if choice and choice.more then
        choose_session(project, choice.more)
      elseif choice then
        require('plimsoll.session').show(choice)
        M.open()
      end
    end)
  end)
end

function M.sessions()
  start()
  require('plimsoll.session').project(require('plimsoll.config').roots(), choose_session)
end

function M.rename(title)
  shown(function(session)
    if title then
      return session:rename(title)
    end
    vim.ui.input({ prompt = 'Title: ', default = session.conversation.info.title }, function(given)
      if given and vim.trim(given) ~= '' then
        session:rename(given)
      end
    end)
  end)
end

--- Has the conversation shortened for the model; `focus` is what a summary should keep above all.
function M.compact(focus)
  shown(function(session)
    session:compact(focus)
  end)
end

function M.mode(mode)
  shown(function(session)
    if mode then
      return session:set_mode(mode)
    end
    vim.ui.select(require('plimsoll.session').MODES, {
      prompt = 'Permission mode',
      format_item = function(item)
        return item == session.conversation.info.mode and item .. ' (now)' or item
      end,
    }, function(choice)
      if choice then
        session:set_mode(choice)
      end
    end)
  end)
end

function M.answer()
  shown(function()
    require('plimsoll.permission').answer()
  end)
end

--- Shows the todo list in a window of its own.
function M.todos()
  shown(function(session)
    local todos = session.conversation.todos
    if #todos == 0 then
      return require('plimsoll.notify').info('this session has no todo list')
    end
    local float = require('plimsoll.float')
    local _, buf =
      float.open(require('plimsoll.tool').todos(todos), { title = 'Todos', footer = ' q closes ', enter = true })
    for _, key in ipairs({ 'q', '<Esc>' }) do
      vim.keymap.set(
        'n',
        key,
        '<Cmd>close<CR>',
        { buffer = buf, nowait = true, desc = 'Plimsoll: close the todo list' }
      )
    end
  end)
end

--- Shows the change of the call under the cursor, else of the last call that has one.
function M.diff()
  shown(function(session)
    local conversation = require('plimsoll.conversation')
    local changes = conversation.changes(require('plimsoll.view').block_here())
    local blocks = session.conversation.blocks
    for index = #blocks, 1, -1 do
      if #changes > 0 then
        break
      end
      changes = conversation.changes(blocks[index])
    end
    require('plimsoll.diff').choose(changes)
  end)
end

function M.help()
  vim.cmd.help('plimsoll-keys')
end

function M.reconnect()
  start()
  require('plimsoll.client').reconnect()
end

return M
