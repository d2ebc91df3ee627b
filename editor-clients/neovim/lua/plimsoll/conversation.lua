--- What a session's events look like: a list of blocks, each a list of lines. Pure: no buffer, no connection, no clock.
--- `view` puts the lines into a buffer.
---
--- A block's first lines are its head; what follows is its body, which folds when `fold` is set. `dirty` is the first line
--- (from 1) that differs from what was taken last. Blocks are only ever appended; one that is given up has no lines.

local items = require('plimsoll.items')
local split = require('plimsoll.text').split
local tool = require('plimsoll.tool')
local turn = require('plimsoll.turn')

local M = {}

--- @class plimsoll.Block
--- @field kind string
--- @field lines string[]
--- @field heads integer lines before those that fold
--- @field fold boolean
--- @field group? string highlight group of the head
--- @field dirty? integer
--- @field text? string what a streamed block has so far
--- @field call? plimsoll.Call
--- @field stale? boolean the lines are not yet those of the call

--- @class plimsoll.Conversation
--- @field blocks plimsoll.Block[]
--- @field todos table[]
--- @field asks table[] questions that wait, oldest first
--- @field turn? integer the running turn
--- @field queued integer prompts that wait behind it
--- @field load? number the last request's share of the model's window
--- @field info table what is known of the session
--- @field edited? boolean files may have changed since somebody cleared this
--- @field cost number US dollars of all turns whose price is known
local Conversation = {}
Conversation.__index = Conversation

--- @param info? table SessionInfo
--- @return plimsoll.Conversation
function M.new(info)
  return setmetatable({
    blocks = {},
    changed = {},
    calls = {},
    unsettled = {},
    live = {},
    waiting = {},
    todos = {},
    asks = {},
    queued = 0,
    info = info or {},
    cost = 0,
  }, Conversation)
end

--- Notes that a block's lines differ from line `from` on.
function Conversation:touch(index, from)
  local block = self.blocks[index]
  block.dirty = math.min(block.dirty or from, from)
  self.changed[index] = true
end

--- Calls change often and are looked at once a frame: their lines are made when somebody looks.
function Conversation:refresh()
  for index in pairs(self.changed) do
    local block = self.blocks[index]
    if block.stale then
      block.stale = nil
      self:show_call(block)
    end
  end
end

--- The numbers of the blocks that changed since this was asked last, ascending. Each has `dirty` set; whoever takes them
--- clears it.
function Conversation:take()
  self:refresh()
  local indices = vim.tbl_keys(self.changed)
  table.sort(indices)
  self.changed = {}
  return indices
end

--- All lines, as a buffer shows them.
function Conversation:lines()
  self:refresh()
  local all = {}
  for _, block in ipairs(self.blocks) do
    vim.list_extend(all, block.lines)
  end
  return all
end

--- Appends a block. Calls stand close to each other, everything else has an empty line before it.
function Conversation:append(block)
  local last = self.last
  if last and not (last == 'call' and block.kind == 'call') and last ~= 'speaker' then
    table.insert(block.lines, 1, '')
    block.heads = block.heads + 1
  end
  self.last = block.kind
  table.insert(self.blocks, block)
  self:touch(#self.blocks, 1)
  return #self.blocks
end

--- Puts the speaker's name before what comes, when it is another.
function Conversation:speaker(name, group)
  if self.spoken ~= name then
    self.spoken = name
    return self:append({ kind = 'speaker', lines = { '▌ ' .. name }, heads = 1, fold = false, group = group })
  end
end

--- Takes a block's lines away, and its speaker's name when he says nothing else.
function Conversation:remove(index, speaker)
  self.blocks[index].lines, self.blocks[index].text = {}, ''
  self:touch(index, 1)
  local last = #self.blocks
  while last > 0 and #self.blocks[last].lines == 0 do
    last = last - 1
  end
  self.last = last > 0 and self.blocks[last].kind or nil
  if speaker and not self:says_anything(speaker) then
    self:remove(speaker)
  end
end

local by_speaker = { text = true, reasoning = true, call = true, user = true }

--- Whether something stands under this speaker's name.
function Conversation:says_anything(speaker)
  for index = speaker + 1, #self.blocks do
    local block = self.blocks[index]
    if block.kind == 'speaker' then
      return false
    elseif by_speaker[block.kind] and #block.lines > 0 then
      return true
    end
  end
  self.spoken = nil
  return false
end

function Conversation:agent()
  return self:speaker('Plimsoll', 'PlimsollAgent')
end

--- A line of the view's own.
function Conversation:note(text, group)
  local lines = split(text)
  self:append({ kind = 'note', lines = lines, heads = #lines, fold = false, group = group or 'PlimsollNote' })
end

-- Streamed text and reasoning -----------------------------------------------------------------------------------------

local function thought(lines)
  return ('◦ Thought · %d %s'):format(lines, lines == 1 and 'line' or 'lines')
end

--- The lines of a text block, or of a reasoning block, which folds under a head of its own.
local function set_text(block, text)
  local gap = block.gap and { '' } or {}
  block.text = text
  if block.kind == 'reasoning' then
    local body = split(text)
    block.lines = vim.list_extend(gap, vim.list_extend({ thought(#body) }, body))
  else
    block.lines = vim.list_extend(gap, split(text))
  end
end

function Conversation:open_text(kind, text)
  local speaker = self:agent()
  local block = { kind = kind, lines = {}, heads = kind == 'reasoning' and 1 or 0, fold = kind == 'reasoning' }
  block.group = kind == 'reasoning' and 'PlimsollReasoning' or nil
  local index = self:append(block)
  block.gap = #block.lines > 0
  set_text(block, text)
  return index, speaker
end

--- Puts another text into a block.
function Conversation:replace(index, text)
  local block = self.blocks[index]
  if block.text ~= text then
    set_text(block, text)
    self:touch(index, 1)
  end
end

--- Appends to a block, without looking at what is there before its last line.
function Conversation:extend(index, text)
  local block = self.blocks[index]
  if block.text:sub(-1) == '\r' or text:find('\r\n', 1, true) then
    return self:replace(index, block.text .. text)
  end
  local last = #block.lines
  local new = vim.split(text, '\n', { plain = true })
  block.text = block.text .. text
  block.lines[last] = block.lines[last] .. new[1]
  for i = 2, #new do
    block.lines[last + i - 1] = new[i]
  end
  self:touch(index, last)
  if block.kind == 'reasoning' and #new > 1 then
    block.lines[block.heads] = thought(#block.lines - block.heads)
    self:touch(index, block.heads)
  end
end

local function same_step(a, event)
  return a.turn == event.turn and a.step == event.step
end

function Conversation:delta(kind, event)
  local text = event.text
  if type(text) ~= 'string' or text == '' then
    return
  end
  local offset = event.offset or 0
  if offset == 0 then
    self:drop_later(kind, event)
  end
  local key = ('%s/%s/%s/%s'):format(kind, event.turn, event.step, event.block)
  local live = self.live[key]
  if not live then
    -- What came before the offset was missed; the item has it.
    local index, speaker = self:open_text(kind, text)
    self.live[key] = {
      index = index,
      speaker = speaker,
      kind = kind,
      turn = event.turn,
      step = event.step,
      block = event.block or 0,
      from = offset,
    }
    return
  end
  local block = self.blocks[live.index]
  local repeats = live.repeats
  live.repeats = nil
  if offset == 0 then
    if repeats and vim.startswith(text, block.text) and live.from == 0 then
      text = text:sub(#block.text + 1)
      return text ~= '' and self:extend(live.index, text)
    end
    -- The block begins again: another try of the model, or another daemon.
    live.from = 0
    return self:replace(live.index, text)
  end
  local have = live.from + #block.text
  if offset + #text > have then
    self:extend(live.index, text:sub(math.max(have - offset, 0) + 1))
  end
end

--- The complete text of what was streamed. It takes the place of the first block of its step that it continues.
function Conversation:settle_text(kind, item)
  local found
  for key, live in pairs(self.live) do
    if live.kind == kind and same_step(live, item) then
      local rank = (vim.startswith(item.text, self.blocks[live.index].text) and 0 or 1e9) + live.index
      if not found or rank < found.rank then
        found = { rank = rank, key = key, index = live.index }
      end
    end
  end
  if found then
    self.live[found.key] = nil
    self:replace(found.index, item.text)
    return found.index
  elseif item.text ~= '' then
    return self:open_text(kind, item.text)
  end
end

--- Gives up streamed blocks that became no item.
function Conversation:drop_live(keep)
  for key, live in pairs(self.live) do
    if not (keep and same_step(live, keep)) then
      self.live[key] = nil
      self:remove(live.index, live.speaker)
    end
  end
end

--- Gives up what a block that begins takes along: what was streamed of the step behind it, and in its place as another kind.
function Conversation:drop_later(kind, event)
  local block = event.block or 0
  for key, live in pairs(self.live) do
    local later = live.block > block or (live.block == block and live.kind ~= kind)
    if same_step(live, event) and later then
      self.live[key] = nil
      self:remove(live.index, live.speaker)
    end
  end
end

--- The session is followed anew: blocks that are being written come again from their beginning.
function Conversation:followed_anew()
  for _, live in pairs(self.live) do
    live.repeats = true
  end
end

-- Calls ---------------------------------------------------------------------------------------------------------------

--- Writes a call's lines from what is known of it.
function Conversation:show_call(block)
  local head, group = tool.head(block.call)
  local lines = block.gap and { '', head } or { head }
  block.heads = #lines
  block.group = group
  vim.list_extend(lines, tool.body(block.call))
  block.fold = #lines > block.heads
  block.lines = lines
end

--- The number of the block of a call, which is made when nothing is known of it.
function Conversation:call(id)
  local index = self.calls[id]
  if not index then
    self:agent()
    local block = { kind = 'call', lines = { id }, heads = 1, fold = false, call = tool.new(id) }
    index = self:append(block)
    block.gap = #block.lines > 1
    self.calls[id] = index
  end
  return index, self.blocks[index].call
end

function Conversation:call_changed(index)
  self.blocks[index].stale = true
  self:touch(index, 1)
end

function Conversation:update_call(id, change)
  if type(id) ~= 'string' then
    return
  end
  local index, call = self:call(id)
  change(call)
  local settled = call.status and call.status ~= 'running'
  self.unsettled[index] = not settled or nil
  self:call_changed(index)
end

--- The changes of the call in this block that can be looked at side by side.
function M.changes(block)
  return block and block.call and tool.changes(block.call) or {}
end

-- Events --------------------------------------------------------------------------------------------------------------

local events = {}

function events.turnStarted(self, event)
  self.turn = event.turn
  self.queued = math.max(self.queued - (self.waiting[event.turn] and 1 or 0), 0)
  self.waiting[event.turn] = nil
end

function events.turnQueued(self, event)
  if not self.waiting[event.turn] then
    self.waiting[event.turn] = true
    self.queued = self.queued + 1
  end
end

function events.itemAdded(self, event)
  local item = event.item
  local add = type(item) == 'table' and items[item.kind]
  if add then
    add(self, vim.tbl_extend('keep', item, { text = '' }))
  end
end

function events.textDelta(self, event)
  self:delta('text', event)
end

function events.reasoningDelta(self, event)
  self:delta('reasoning', event)
end

function events.permissionAsked(self, event)
  local ask = event.ask
  if ask.resolution then
    return
  end
  self.asks = vim.tbl_filter(function(other)
    return other.id ~= ask.id
  end, self.asks)
  table.insert(self.asks, ask)
  self:update_call(ask.tool == 'turn' and ask.id or ask.call, function(call)
    call.tool = call.tool or ask.tool
    call.ask = ask
  end)
end

function events.permissionResolved(self, event)
  local ask = event.ask
  self.asks = vim.tbl_filter(function(other)
    return other.id ~= ask.id
  end, self.asks)
  self:update_call(ask.tool == 'turn' and ask.id or ask.call, function(call)
    call.tool = call.tool or ask.tool
    call.ask = ask
    ask.resolution = ask.resolution or { type = 'void' }
  end)
end

function events.toolStarted(self, event)
  self:update_call(event.call, function(call)
    call.status, call.title = 'running', event.title
  end)
end

function events.toolOutput(self, event)
  self:update_call(event.call, function(call)
    tool.output(call, event.offset or 0, event.text or '')
  end)
end

function events.taskEnded(self, event)
  self:update_call(event.call, function(call)
    call.ended = { exit = event.exit, durationMs = event.durationMs }
  end)
end

function events.planChanged(self, event)
  self.todos = event.todos or {}
  self:update_call(event.call, function(call)
    call.todos = self.todos
  end)
end

function events.compactionStarted(self)
  self.shortening = true
end

function events.compactionFinished(self, event)
  self.shortening = nil
  if not event.epoch and event.message then
    -- What was shortened, a notice says; that nothing was, and why, only this.
    self:note(('The conversation was not shortened: %s.'):format(event.message))
  end
end

function events.stepStarted(self, event)
  -- A compaction that a death of the daemon cut has no end of its own.
  self.shortening = nil
  self:drop_live(event)
  self.load = event.load
end

function events.turnCompleted(self, event)
  self.shortening = nil
  self:drop_live()
  for index in pairs(self.unsettled) do
    self.blocks[index].call.status = 'unknown'
    self:call_changed(index)
  end
  self.unsettled = {}
  if event.turn == self.turn then
    self.turn = nil
  end
  self.cost = self.cost + (event.cost or 0)
  self.asks = vim.tbl_filter(function(ask)
    return ask.turn ~= event.turn
  end, self.asks)
  -- A notice of the same turn says it already, with more words.
  local last = self.blocks[#self.blocks]
  local notice = last and last.kind == 'notice' and table.concat(last.lines, '\n') or nil
  self:note(turn.ending(event, notice), event.stopReason == 'endTurn' and 'PlimsollNote' or 'PlimsollFailed')
  self.spoken = nil
end

function events.sessionChanged(self, event)
  self.info = event.info or self.info
end

--- Takes an event in. One whose type is not known changes nothing.
--- @param event table `params.result` of `session/event`
function Conversation:apply(event)
  local apply = events[event.type]
  if apply then
    apply(self, event)
  end
end

return M
