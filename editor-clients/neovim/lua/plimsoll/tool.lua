--- A call of a tool as one line with its state, and what folds below it. Pure.

local split = require('plimsoll.text').split

local M = {}

--- Lines of a body that are shown; the daemon has all of them.
local MOST_LINES = 500
--- Bytes of a running command's output that are kept: its newest. The whole comes with the result.
local MOST_OUTPUT = 32 * 1024
--- Letters of a title: what stands behind it must be seen in a window of 80 columns, where a fold shows one line.
local TITLE = 50

--- @class plimsoll.Call
--- @field id string
--- @field tool? string
--- @field arguments? string
--- @field title? string
--- @field status? string nil: proposed
--- @field ask? table
--- @field data? table

function M.new(id)
  return { id = id, shown = '', next = 0 }
end

--- Takes in output that begins at byte `offset`.
function M.output(call, offset, text)
  local known = math.max(call.next - offset, 0)
  if known < #text then
    local shown = call.shown .. text:sub(known + 1)
    if #shown > MOST_OUTPUT then
      -- From the next line on, so that no letter is cut.
      shown = shown:sub(-MOST_OUTPUT)
      shown = shown:sub((shown:find('\n', 1, true) or 0) + 1)
    end
    call.shown, call.next = shown, offset + #text
  end
end

local states = {
  proposed = { '○', 'PlimsollTool' },
  running = { '…', 'PlimsollRunning' },
  ok = { '✓', 'PlimsollTool' },
  failed = { '✗', 'PlimsollFailed' },
  denied = { '⊘', 'PlimsollFailed' },
  cancelled = { '■', 'PlimsollFailed' },
  unknown = { '!', 'PlimsollFailed' },
  asks = { '?', 'PlimsollAsk' },
}

local choices = {
  allowOnce = 'allowed once',
  allowSession = 'allowed for this session',
  allowAlways = 'allowed always',
  reject = 'rejected',
}

--- A text on one line of at most so many letters.
function M.one_line(text, width)
  text = vim.trim((text:gsub('%s+', ' ')))
  if vim.fn.strchars(text) > width then
    text = vim.fn.strcharpart(text, 0, width - 1) .. '…'
  end
  return text
end

--- A time, in words.
local function duration(ms)
  if ms < 1000 then
    return ('%d ms'):format(ms)
  elseif ms < 60000 then
    return ('%.1f s'):format(ms / 1000)
  end
  return ('%d min %d s'):format(math.floor(ms / 60000), math.floor(ms / 1000) % 60)
end

--- How a command ended, in words; nil when well.
local function exit_word(exit)
  if type(exit) ~= 'table' then
    return nil
  elseif exit.type == 'code' then
    return exit.code ~= 0 and ('exit %s'):format(exit.code) or nil
  elseif exit.type == 'signal' then
    return ('killed by signal %s'):format(exit.signal)
  elseif exit.type == 'timedOut' then
    return 'timed out'
  elseif exit.type == 'running' then
    return 'goes on in the background'
  elseif exit.type == 'notStarted' then
    return 'not started'
  end
  return exit.type
end

--- The changes that a call made, or would make.
function M.changes(call)
  if call.data and call.data.kind == 'edit' then
    return call.data.files or {}
  end
  return call.ask and call.ask.changes or {}
end

local function counts(changes)
  local added, removed = 0, 0
  for _, change in ipairs(changes) do
    added, removed = added + (change.added or 0), removed + (change.removed or 0)
  end
  return ('+%d −%d'):format(added, removed)
end

--- What stands behind the title.
local function remarks(call)
  local parts = {}
  local data = call.data or {}
  local changes = M.changes(call)
  if #changes > 0 then
    table.insert(parts, counts(changes))
  end
  if call.ended then
    table.insert(parts, 'ended in the background')
    table.insert(parts, exit_word(call.ended.exit))
  elseif data.kind == 'command' then
    table.insert(parts, exit_word(data.exit))
    if (data.durationMs or 0) >= 1000 then
      table.insert(parts, duration(data.durationMs))
    end
  elseif data.kind == 'file' and data.lines then
    table.insert(parts, ('%s of %s lines'):format(data.lines, data.totalLines or '?'))
  elseif data.kind == 'matches' and data.total then
    table.insert(parts, ('%s matches'):format(data.total))
  elseif data.kind == 'entries' and data.count then
    table.insert(parts, ('%s entries'):format(data.count))
  end
  if call.todos then
    local done = #vim.tbl_filter(function(todo)
      return todo.status == 'completed'
    end, call.todos)
    table.insert(parts, ('%d of %d done'):format(done, #call.todos))
  end
  if call.status == 'failed' and call.result and data.kind ~= 'command' then
    table.insert(parts, M.one_line(call.result, 60))
  elseif call.status == 'cancelled' then
    table.insert(parts, 'stopped')
  elseif call.status == 'unknown' then
    table.insert(parts, 'unknown whether it took effect')
  end
  local ask = call.ask
  local resolution = ask and ask.resolution
  if ask and not resolution then
    table.insert(parts, 'waits for your answer')
  elseif resolution and resolution.type == 'answered' then
    local word = choices[resolution.choice] or resolution.choice
    local advice = resolution.advice and resolution.advice ~= '' and (': ' .. M.one_line(resolution.advice, 60)) or ''
    table.insert(parts, word .. advice)
  elseif resolution and resolution.type == 'void' and not call.status then
    table.insert(parts, 'no longer asked')
  end
  return parts
end

--- The title of a call on one line, and whether it was shortened.
local function title_of(call)
  local title = call.title or (call.ask and call.ask.title) or (call.todos and 'plan')
  title = title or ('%s %s'):format(call.tool or call.id, call.arguments or '')
  local short = M.one_line(title, TITLE)
  return short, short ~= M.one_line(title, math.huge)
end

--- The line of a call and its highlight group.
function M.head(call)
  local status = call.status or 'proposed'
  if call.ask and not call.ask.resolution then
    status = 'asks'
  elseif call.status == 'ok' and call.data and call.data.kind == 'command' then
    local exit = call.data.exit
    if call.ended then
      exit = call.ended.exit
    elseif type(exit) == 'table' and exit.type == 'running' then
      status = 'running'
    end
    status = status == 'ok' and exit_word(exit) and 'failed' or status
  end
  local state = states[status] or { '·', 'PlimsollTool' }
  local parts = { (title_of(call)) }
  vim.list_extend(parts, remarks(call))
  return state[1] .. ' ' .. table.concat(parts, ' · '), state[2]
end

--- Text between fences that it does not itself contain.
function M.fenced(text, language)
  local longest = 2
  for ticks in text:gmatch('`+') do
    longest = math.max(longest, #ticks)
  end
  local fence = ('`'):rep(longest + 1)
  local lines = split(text)
  if lines[#lines] == '' then
    table.remove(lines)
  end
  local more = #lines - MOST_LINES
  if more > 0 then
    lines = vim.list_slice(lines, 1, MOST_LINES)
  end
  table.insert(lines, 1, fence .. (language or ''))
  table.insert(lines, fence)
  if more > 0 then
    table.insert(lines, ('(%d more lines)'):format(more))
  end
  return lines
end

--- The differences of changes, each with its file's name.
function M.diffs(changes)
  local lines = {}
  for _, change in ipairs(changes) do
    table.insert(lines, ('%s %s'):format(vim.fn.fnamemodify(change.path or '?', ':~:.'), counts({ change })))
    vim.list_extend(lines, M.fenced(change.diff or '', 'diff'))
    if (change.cut or 0) > 0 then
      table.insert(lines, ('(%d more lines of this change)'):format(change.cut))
    end
  end
  return lines
end

local boxes = { completed = '[x]', cancelled = '[-]', in_progress = '[>]', inProgress = '[>]' }

--- A todo list as lines.
function M.todos(todos)
  return vim.tbl_map(function(todo)
    return ('- %s %s'):format(boxes[todo.status] or '[ ]', M.one_line(tostring(todo.content), 200))
  end, todos)
end

--- What folds below the line of a call.
function M.body(call)
  local lines = {}
  local data = call.data or {}
  local changes = M.changes(call)
  local command = data.command or (call.ask and call.ask.command)
  local title, shortened = title_of(call)
  if command and not vim.endswith(title, command) then
    vim.list_extend(lines, M.fenced(command, 'sh'))
  end
  if shortened and not command then
    vim.list_extend(lines, M.fenced(call.title or call.arguments or title))
  end
  if #changes > 0 then
    vim.list_extend(lines, M.diffs(changes))
  elseif call.ask and call.ask.plan then
    vim.list_extend(lines, vim.split(call.ask.plan, '\n', { plain = true }))
  end
  if call.todos then
    vim.list_extend(lines, M.todos(call.todos))
  elseif data.kind == 'command' and type(data.output) == 'table' then
    local output = data.output
    local text = (output.head or '') .. (output.tail or '')
    if (output.omitted or 0) > 0 then
      text = ('%s\n(%d bytes left out)\n%s'):format(output.head or '', output.omitted, output.tail or '')
    end
    if text ~= '' then
      vim.list_extend(lines, M.fenced(text))
    end
  elseif call.status == 'running' and call.shown ~= '' then
    vim.list_extend(lines, M.fenced(call.shown))
  elseif call.result and call.result ~= '' and #changes == 0 then
    vim.list_extend(lines, M.fenced(call.result))
  end
  return lines
end

return M
