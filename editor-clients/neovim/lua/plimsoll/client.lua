--- The connection to the daemon: one bridge (`plimsoll stdio`) for this Neovim, started when first needed and started
--- again when it or the daemon ends. Calls that are safe to repeat wait for the next connection and are sent again.

local config = require('plimsoll.config')
local notify = require('plimsoll.notify')

local M = {}

M.VERSION = '0.1.0'
--- The protocol that this client was written for.
M.PROTOCOL = '1.0'

--- Milliseconds before the first attempt to connect again, and at most; it doubles in between.
local FIRST_WAIT, LONGEST_WAIT = 100, 5000
--- Milliseconds after which a connection was a good one: what ends sooner, again and again, counts as failed.
local GOOD = 5000
--- Attempts in a row that fail before the user has to ask for the next.
local ATTEMPTS = 10
--- Exit codes of a bridge whose daemon ended, and of one whose daemon somebody stopped.
local DAEMON_LEFT, DAEMON_STOPPED = 4, 5

--- 'off', 'connecting', 'ready', 'waiting' (for the next attempt), 'stopped' (by somebody, until the next call) or 'failed'
--- (no further attempt by itself).
M.state = 'off'
--- What `initialize` answered.
M.server = nil

local rpc
local generation = 0
local failures = 0
local ready_since = 0
local stops = false
local outbox, sent = {}, {}
local listeners = {}
local keys = 0

--- Registers who is told: `event(params)` of `session/event`, `ready()` after each connect, `changed()` of each state.
function M.listen(listener)
  table.insert(listeners, listener)
end

local function tell(what, ...)
  for _, listener in ipairs(listeners) do
    if listener[what] then
      listener[what](...)
    end
  end
end

local function set(state)
  if M.state ~= state then
    M.state = state
    tell('changed')
  end
end

--- A key that no other call has.
function M.key()
  keys = keys + 1
  return ('nvim-%d-%d-%d'):format(vim.uv.os_getpid(), vim.uv.hrtime(), keys)
end

local function write(call)
  local ok = rpc
    and rpc.request(call.method, call.params, function(fault, result)
      if call.done then
        return
      end
      call.done = true
      sent[call] = nil
      if fault and (fault.data or {}).kind == 'shuttingDown' and call.repeatable then
        -- The next daemon answers it.
        call.done = false
        table.insert(outbox, call)
        return
      end
      call.callback(fault, result)
    end)
  if ok then
    keys = keys + 1
    sent[call] = keys
  else
    table.insert(outbox, call)
  end
end

--- Calls a method. Without a connection the call waits for one, which is begun.
--- @param method string
--- @param params table
--- @param callback? fun(fault?: table, result: any) on the main loop; without it a fault is shown
--- @param options? {once: boolean} `once`: what must not be repeated; it fails when the connection ends before the answer
function M.call(method, params, callback, options)
  local call = {
    method = method,
    params = next(params) and params or vim.empty_dict(),
    repeatable = not (options and options.once),
    callback = callback or function(fault)
      if fault then
        notify.error(fault)
      end
    end,
  }
  if M.state == 'ready' then
    write(call)
  else
    table.insert(outbox, call)
    M.connect()
  end
end

--- Calls a method now or never: what the next connection will say anew.
function M.try(method, params, callback)
  if M.state == 'ready' then
    M.call(method, params, callback or function() end, { once = true })
  end
end

local function flush()
  local calls = outbox
  outbox = {}
  for _, call in ipairs(calls) do
    write(call)
  end
end

--- The daemon said that it ends because somebody stopped it.
function M.daemon_stopped()
  stops = true
end

--- Fails all calls that wait.
local function fail_all(fault)
  local calls = outbox
  outbox = {}
  for _, call in ipairs(calls) do
    call.callback(fault)
  end
end

--- No further attempt by itself. Who waits for an answer shows the fault; without one it is shown here.
local function give_up(fault)
  set('failed')
  if #outbox == 0 then
    notify.error(fault)
  end
  fail_all(fault)
end

--- What the binary says about why it cannot reach the daemon.
local function diagnose(callback)
  local ok = pcall(vim.system, config.command('stdio'), { stdin = '', text = true, timeout = 10000 }, function(done)
    vim.schedule(function()
      callback(vim.trim(done.stderr or ''))
    end)
  end)
  if not ok then
    callback('')
  end
end

local function retry(left)
  failures = failures + 1
  if failures >= ATTEMPTS then
    return give_up({
      message = 'the daemon cannot be reached',
      data = { kind = 'unreachable', hint = 'see :checkhealth plimsoll, then :PlimsollReconnect' },
    })
  end
  local wait = left and failures == 1 and FIRST_WAIT or math.min(FIRST_WAIT * 2 ^ failures, LONGEST_WAIT)
  set('waiting')
  local mine = generation
  vim.defer_fn(function()
    if mine == generation and M.state == 'waiting' then
      M.connect()
    end
  end, wait)
end

--- The connection is gone: what it left unanswered waits for the next, before what waits already. Gives what may not be
--- repeated.
local function forget()
  rpc, M.server = nil, nil
  local calls = vim.tbl_keys(sent)
  table.sort(calls, function(a, b)
    return sent[a] < sent[b]
  end)
  sent = {}
  local again, lost = {}, {}
  for _, call in ipairs(calls) do
    table.insert(call.repeatable and again or lost, call)
  end
  outbox = vim.list_extend(again, outbox)
  return lost
end

local function fail(calls)
  for _, call in ipairs(calls) do
    call.done = true
    call.callback({
      message = ('the connection ended before `%s` was answered'):format(call.method),
      data = { kind = 'connectionLost', hint = 'look at the conversation, and say it again when it is not there' },
    })
  end
end

local function ended(code, was_ready)
  local lost = forget()
  if was_ready and vim.uv.now() - ready_since > GOOD then
    failures = 0
  end
  if (code == DAEMON_STOPPED or stops) and #outbox == 0 then
    failures = 0
    set('stopped')
    notify.info('somebody stopped the daemon; your next prompt starts it')
    return fail(lost)
  end
  if code ~= DAEMON_LEFT and not was_ready and failures == 0 then
    diagnose(function(said)
      if said ~= '' then
        notify.error(said .. '\nsee :checkhealth plimsoll')
      end
    end)
  end
  retry(was_ready)
  fail(lost)
end

local function initialize(mine)
  local params = {
    clientInfo = { name = 'plimsoll.nvim', version = M.VERSION },
    protocolVersion = M.PROTOCOL,
    capabilities = vim.empty_dict(),
  }
  rpc.request('initialize', params, function(fault, result)
    if mine ~= generation then
      return
    elseif fault and (fault.data or {}).kind == 'shuttingDown' then
      -- Its end is the bridge's end, and the next attempt finds another daemon.
      return rpc.terminate()
    elseif fault then
      M.disconnect()
      return give_up(fault)
    end
    M.server = result
    ready_since = vim.uv.now()
    set('ready')
    tell('ready')
    flush()
  end)
end

--- Connects, when there is no connection and none is being made.
function M.connect()
  if M.state == 'ready' or M.state == 'connecting' then
    return
  end
  if M.state == 'failed' then
    failures = 0
  end
  local command = config.command('stdio')
  if vim.fn.executable(command[1]) == 0 then
    return give_up({
      message = ('`%s` is not an executable'):format(command[1]),
      data = {
        kind = 'notInstalled',
        hint = 'install Plimsoll, or set the option `command`; see :checkhealth plimsoll',
      },
    })
  end
  generation = generation + 1
  local mine = generation
  stops = false
  set('connecting')
  local ok, started = pcall(vim.lsp.rpc.start, command, {
    notification = function(method, params)
      if mine == generation and method == 'session/event' and type(params) == 'table' then
        tell('event', params)
      end
    end,
    on_error = function(_, fault)
      if mine == generation then
        notify.error(('a message of the daemon could not be read: %s'):format(vim.inspect(fault)))
      end
    end,
    on_exit = function(code)
      vim.schedule(function()
        if mine == generation then
          ended(code, M.state == 'ready')
        end
      end)
    end,
  })
  if not ok or not started then
    return give_up({ message = ('`%s` cannot be started: %s'):format(table.concat(command, ' '), tostring(started)) })
  end
  rpc = started
  initialize(mine)
end

--- Whether every call was answered.
function M.idle()
  return next(sent) == nil and #outbox == 0
end

--- Ends the connection; the next call makes another.
function M.disconnect()
  generation = generation + 1
  if rpc and not rpc.is_closing() then
    rpc.terminate()
  end
  failures = 0
  set('off')
  fail(forget())
end

--- Connects anew, whatever the state.
function M.reconnect()
  M.disconnect()
  M.connect()
end

return M
