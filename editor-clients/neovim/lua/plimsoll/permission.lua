--- The question whether a call may run: a floating window that is answered by keys.

local config = require('plimsoll.config')
local diff = require('plimsoll.diff')
local float = require('plimsoll.float')
local input = require('plimsoll.input')
local notify = require('plimsoll.notify')
local sessions = require('plimsoll.session')
local tool = require('plimsoll.tool')
local view = require('plimsoll.view')

local M = {}

--- Columns that a message about a question needs beside its title, with room for what Neovim shows at the end of the line.
local MESSAGE = 54
--- Letters of a title whose command stands below it.
local SHORT = 60

local choices = {
  { key = 'once', kind = 'allowOnce', word = 'once' },
  { key = 'session', kind = 'allowSession', word = 'session' },
  { key = 'always', kind = 'allowAlways', word = 'always' },
  { key = 'reject', kind = 'reject', word = 'no' },
}

--- The open window: {win, buf, ask, session, from (when it takes answers)}.
local open
--- Questions that were put off, or that the user was told about, by session and id.
local put_off, told = {}, {}

local function option(ask, kind)
  for _, candidate in ipairs(ask.options or {}) do
    if candidate.kind == kind then
      return candidate
    end
  end
end

--- Whether the words of the footer say what the answers mean. Those to a plan, or at a limit, mean something of their own.
local function common(ask)
  return ask.plan == nil and ask.tool ~= 'turn'
end

--- What the answers mean: the rules that those which last will store (most often the same), else the daemon's words.
local function answers(ask)
  local keys = config.get().permission.keys
  local text, by_rules, order = {}, {}, {}
  for _, choice in ipairs(choices) do
    local offered = option(ask, choice.kind)
    local rules = offered and table.concat(offered.rules or {}, ', ') or ''
    if offered and not common(ask) then
      table.insert(text, ('%s  %s'):format(keys[choice.key] or ' ', offered.label or choice.word))
    elseif rules ~= '' and by_rules[rules] then
      table.insert(by_rules[rules], choice.word)
    elseif rules ~= '' then
      by_rules[rules] = { choice.word }
      table.insert(order, rules)
    end
  end
  for _, rules in ipairs(order) do
    table.insert(text, ('For %s: %s'):format(table.concat(by_rules[rules], ' and '), rules))
  end
  return table.concat(text, '\n')
end

--- What the window says.
local function lines(ask)
  local text = {}
  local function add(more)
    if more ~= '' then
      vim.list_extend(text, type(more) == 'table' and more or vim.split(more, '\n', { plain = true }))
    end
  end
  local title = ask.title or ask.tool or ''
  local shortened = ask.command and not vim.endswith(title, ask.command)
  add(shortened and tool.one_line(title, SHORT) or title)
  if shortened then
    add(tool.fenced(ask.command, 'sh'))
  elseif not ask.command and not ask.changes then
    for _, path in ipairs(ask.paths or {}) do
      add('- ' .. path)
    end
  end
  if ask.reason and ask.reason ~= '' then
    add('Why: ' .. ask.reason)
  end
  add(answers(ask))
  if ask.plan then
    add({ '' })
    add(ask.plan)
  end
  if ask.changes then
    add(tool.diffs(ask.changes))
  end
  return text
end

local function footer(ask)
  local keys = config.get().permission.keys
  local parts = {}
  local function add(key, word)
    if keys[key] then
      table.insert(parts, ('%s %s'):format(keys[key], word))
    end
  end
  for _, choice in ipairs(choices) do
    if common(ask) and option(ask, choice.kind) then
      add(choice.key, choice.word)
    end
  end
  if option(ask, 'reject') then
    add('advice', 'no, and say why')
  end
  if ask.changes and #ask.changes > 0 then
    add('diff', 'diff')
  end
  add('later', 'later')
  return (' %s '):format(table.concat(parts, ' · '))
end

local function close()
  local was = open
  open = nil
  if was and vim.api.nvim_win_is_valid(was.win) then
    vim.api.nvim_win_close(was.win, true)
  end
end

local function id(session, ask)
  return session.id .. '/' .. ask.id
end

--- Whether the window takes answers already.
function M.ready()
  return open ~= nil and vim.uv.now() >= open.from
end

local function answer(kind)
  if not M.ready() then
    return
  end
  local session, ask = open.session, open.ask
  if not option(ask, kind) then
    return notify.warn('this answer is not offered')
  end
  close()
  -- Until the daemon says what came of it, the next question has its turn.
  put_off[id(session, ask)] = true
  session:respond(ask, kind)
end

local function advise()
  if not M.ready() then
    return
  end
  local session, ask = open.session, open.ask
  vim.ui.input({ prompt = 'Instead: ' }, function(advice)
    if advice and option(ask, 'reject') then
      close()
      put_off[id(session, ask)] = true
      session:respond(ask, 'reject', advice ~= '' and advice or nil)
    end
  end)
end

local function map(buf, ask)
  local keys = config.get().permission.keys
  local function key(name, action, description)
    if keys[name] then
      vim.keymap.set('n', keys[name], action, { buffer = buf, nowait = true, desc = 'Plimsoll: ' .. description })
    end
  end
  for _, choice in ipairs(choices) do
    key(choice.key, function()
      answer(choice.kind)
    end, 'answer: ' .. choice.kind)
  end
  key('advice', advise, 'reject, and say what to do instead')
  key('diff', function()
    local changes = ask.changes or {}
    M.later()
    diff.choose(changes)
  end, 'show the change side by side')
  key('later', M.later, 'answer later')
  vim.keymap.set('n', '<Esc>', M.later, { buffer = buf, nowait = true, desc = 'Plimsoll: answer later' })
end

local function show(session, ask, count, enter)
  local win, buf = float.open(lines(ask), {
    title = count > 1 and ('Plimsoll asks (1 of %d)'):format(count) or 'Plimsoll asks',
    footer = footer(ask),
    enter = enter,
    markdown = true,
  })
  vim.api.nvim_buf_set_extmark(buf, vim.api.nvim_create_namespace('plimsoll'), 0, 0, { line_hl_group = 'Title' })
  map(buf, ask)
  vim.api.nvim_create_autocmd('WinClosed', {
    pattern = tostring(win),
    once = true,
    callback = function()
      if open and open.win == win then
        put_off[id(session, ask)] = true
        open = nil
      end
    end,
  })
  open = { win = win, buf = buf, ask = ask, session = session, from = vim.uv.now() }
end

--- Closes the window without an answer; the question stays.
function M.later()
  if open then
    put_off[id(open.session, open.ask)] = true
    close()
  end
end

--- Whether the user looks at the conversation and writes nothing.
local function attentive()
  local buf = vim.api.nvim_get_current_buf()
  local ours = (view.current and view.current.buf == buf) or input.is(buf)
  return ours and vim.api.nvim_get_mode().mode == 'n' and vim.fn.getcmdwintype() == ''
end

--- Shows the first question that was not put off, closes what is no longer asked.
local function update(session)
  local asks = session and session.conversation.asks or {}
  if open then
    for _, ask in ipairs(asks) do
      if session == open.session and ask.id == open.ask.id then
        return
      end
    end
    close()
  end
  for _, ask in ipairs(asks) do
    if not put_off[id(session, ask)] then
      local focus = config.get().permission.focus and attentive()
      if focus then
        show(session, ask, #asks, true)
        open.from = vim.uv.now() + config.get().permission.delay
      elseif not told[id(session, ask)] then
        told[id(session, ask)] = true
        -- One line: a longer message would stop the user until a key is pressed.
        local title = tool.one_line(ask.title or 'a question', math.max(vim.o.columns - MESSAGE, 10))
        notify.warn(('asks: %s (:PlimsollAnswer)'):format(title))
      end
      return
    end
  end
end

--- Shows the first question that waits, and takes answers at once.
function M.answer()
  local session = sessions.current
  local asks = session and session.conversation.asks or {}
  if open then
    open.from = vim.uv.now()
    return vim.api.nvim_set_current_win(open.win)
  elseif #asks == 0 then
    return notify.info('no question waits')
  end
  put_off[id(session, asks[1])] = nil
  show(session, asks[1], #asks, true)
end

sessions.watch(update)

-- Who was writing when the question came is asked when he is done.
vim.api.nvim_create_autocmd({ 'ModeChanged', 'WinEnter' }, {
  group = vim.api.nvim_create_augroup('plimsoll-permission', {}),
  callback = vim.schedule_wrap(function()
    if not open and sessions.current and #sessions.current.conversation.asks > 0 then
      update(sessions.current)
    end
  end),
})

return M
