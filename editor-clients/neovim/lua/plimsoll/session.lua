--- The session that is shown: followed from its first event, and after a reconnect from the last one that came.

local Conversation = require('plimsoll.conversation')
local client = require('plimsoll.client')
local notify = require('plimsoll.notify')

local M = {}

--- The permission modes, from the least free.
M.MODES = { 'plan', 'ask', 'accept_edits', 'auto', 'full' }

--- Milliseconds between two looks at what is new: what comes in between is drawn at once.
local FRAME = 25
--- Milliseconds that Neovim's end waits for an empty session to be deleted.
local LAST_WORDS = 300

--- @class plimsoll.Session
--- @field id string
--- @field project string
--- @field conversation plimsoll.Conversation
--- @field seq integer the last durable event that came
--- @field subscription? string
--- @field gone? boolean somebody deleted it
local Session = {}
Session.__index = Session

--- The session that is shown, or nil.
--- @type plimsoll.Session?
M.current = nil

local watchers = {}

--- Registers who is told, at most once a frame, that the current session or the connection has changed.
function M.watch(watcher)
  table.insert(watchers, watcher)
end

local drawing = false

local function draw()
  if drawing then
    return
  end
  drawing = true
  vim.defer_fn(function()
    drawing = false
    for _, watcher in ipairs(watchers) do
      watcher(M.current)
    end
  end, FRAME)
end

--- Faults after which the next connection attaches anew.
local passing = { connectionLost = true, shuttingDown = true }

--- Follows the session from the last event that came.
function Session:attach()
  self.subscription = nil
  self.attaching = (self.attaching or 0) + 1
  local mine = self.attaching
  client.try('session/attach', { session = self.id, after = self.seq }, function(fault, subscription)
    if M.current ~= self or mine ~= self.attaching then
      if subscription then
        client.try('session/detach', { subscription = subscription })
      end
    elseif not fault then
      self.subscription = subscription
      self.conversation:followed_anew()
      draw()
    elseif not passing[(fault.data or {}).kind] then
      self.gone = (fault.data or {}).kind == 'notFound'
      self.conversation:note('this session cannot be followed: ' .. (fault.message or ''), 'PlimsollFailed')
      draw()
      notify.error(fault)
    end
  end)
end

--- Takes an event in; each durable one once.
function Session:take(event)
  local seq = event.seq
  if seq then
    if seq <= self.seq then
      return
    elseif seq > self.seq + 1 and self.gap ~= self.seq then
      -- Something was missed: it comes again. A daemon that leaves it out once more has no such event.
      self.gap = self.seq
      client.try('session/detach', { subscription = self.subscription })
      return self:attach()
    end
    self.seq = seq
    self.used = self.used or event.type == 'itemAdded' or event.type == 'turnStarted'
  end
  if event.type == 'closed' and (event.reason == 'daemonStopped' or event.reason == 'daemonEnds') then
    -- The connection ends, and the next one attaches.
    self.subscription = nil
    if event.reason == 'daemonStopped' then
      client.daemon_stopped()
    end
    return
  elseif event.type == 'closed' then
    return self:attach()
  elseif event.type == 'restartPending' and not self.restart_told then
    self.restart_told = true
    notify.info('a new version of the daemon takes over once nothing runs')
  end
  -- An event that a daemon of another version means otherwise must not keep later ones from being seen.
  local ok, fault = pcall(self.conversation.apply, self.conversation, event)
  if not ok then
    notify.error(('an event of the type `%s` cannot be shown: %s'):format(tostring(event.type), fault))
  end
  draw()
end

client.listen({
  event = function(params)
    local session = M.current
    local event = params.result
    if session and type(event) == 'table' and params.subscription == session.subscription then
      session:take(event)
    end
  end,
  ready = function()
    local session = M.current
    if session then
      -- A daemon that has just begun knows no project before it is opened.
      client.try('project/open', { roots = session.roots })
      session:attach()
    end
  end,
  changed = draw,
})

--- Deletes the session when it was made here and nothing was ever said in it.
local function discard_empty(session, callback)
  if session.made_here and not session.used then
    client.try('session/delete', { session = session.id }, callback)
    return true
  end
end

--- Shows a session. The one that was shown is left; what it does goes on.
--- @param info table SessionInfo
--- @return plimsoll.Session
function M.show(info)
  local before = M.current
  if before and before.id == info.id then
    return before
  elseif before and not discard_empty(before) and before.subscription then
    client.try('session/detach', { subscription = before.subscription })
  end
  local session = setmetatable({
    id = info.id,
    project = info.project,
    roots = info.roots or {},
    conversation = Conversation.new(info),
    seq = 0,
  }, Session)
  M.current = session
  session:attach()
  draw()
  return session
end

vim.api.nvim_create_autocmd('VimLeavePre', {
  group = vim.api.nvim_create_augroup('plimsoll-session', {}),
  callback = function()
    local done = false
    if M.current and client.state == 'ready' and discard_empty(M.current, function()
      done = true
    end) then
      vim.wait(LAST_WORDS, function()
        return done
      end, 5)
    end
  end,
})

--- Opens the project of these roots. Calls back with it, or with nil after the fault was shown.
function M.project(roots, callback)
  client.call('project/open', { roots = roots }, function(fault, project)
    if fault then
      notify.error(fault)
    end
    callback(project)
  end)
end

--- Makes a session in the project of these roots and shows it. Calls back with it, or with nil after the fault was shown.
function M.create(roots, callback)
  local key = client.key()
  M.project(roots, function(project)
    if not project then
      return callback(nil)
    end
    client.call('session/create', { project = project.key, idempotencyKey = key }, function(fault, info)
      if fault then
        notify.error(fault)
        return callback(nil)
      end
      local session = M.show(info)
      session.made_here = true
      callback(session)
    end)
  end)
end

--- Calls a method of this session whose fault is shown. Calls back with the result, or with nil and the fault.
function Session:call(method, params, callback, options)
  params.session = self.id
  params.idempotencyKey = client.key()
  client.call(method, params, function(fault, result)
    if fault then
      notify.error(fault)
    end
    if callback then
      callback(result, fault)
    end
  end, options)
end

--- Asks for a turn; behind a running one it waits.
--- @param refused? fun() called when the daemon does not take it
function Session:prompt(text, attachments, refused)
  self.used = true
  self:call('turn/start', {
    text = text,
    attachments = attachments and #attachments > 0 and attachments or nil,
  }, function(result, fault)
    if fault and refused then
      refused()
    elseif result and result.queued then
      notify.info('the prompt waits until the running turn has ended')
    end
  end)
end

--- Adds to the running turn. The daemon remembers its key only while it lives, so it is not repeated.
function Session:steer(text)
  self:call('turn/steer', { text = text }, nil, { once = true })
end

--- Stops the running turn.
function Session:stop()
  self:call('turn/cancel', {})
end

function Session:set_mode(mode)
  self:call('session/setMode', { mode = mode })
end

--- Its end is a notice in the conversation.
function Session:compact(focus)
  self:call('context/compact', { focus = focus })
end

function Session:rename(title)
  self:call('session/rename', { title = title })
end

--- Answers a question.
function Session:respond(ask, choice, advice)
  self:call('permission/respond', { ask = ask.id, choice = choice, advice = advice }, function(result)
    if result and result.accepted == false then
      notify.info('somebody else answered first')
    end
  end)
end

--- What is going on, in a few words.
function Session:activity()
  local conversation = self.conversation
  if client.state ~= 'ready' then
    local words = {
      connecting = 'connecting…',
      waiting = 'connection lost, connecting again…',
      stopped = 'the daemon was stopped, a prompt starts it',
      failed = 'not connected',
    }
    return words[client.state] or 'not connected'
  elseif #conversation.asks > 0 then
    return 'waits for your answer'
  elseif conversation.shortening then
    return 'shortens the conversation'
  elseif conversation.turn then
    return conversation.queued > 0 and ('works, %d waiting'):format(conversation.queued) or 'works'
  end
  return 'ready'
end

return M
