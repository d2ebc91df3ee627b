-- The cases of `editor-clients/conformance`: each plays the daemon, the plugin is driven as the case says its user does.

local machine = require('machine')

local here = vim.fs.dirname(vim.fs.normalize(vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p')))
local folder = vim.env.PLIMSOLL_CONFORMANCE or vim.fs.normalize(here .. '/../../conformance')
local server = folder .. '/serve.mjs'

local keys = { allowOnce = 'y', allowSession = 's', allowAlways = 'a', reject = 'n' }

--- What the user of the case does.
local does = {
  prompt = function(nvim, step)
    nvim:lua([[require('plimsoll').command(..., { range = 0 })]], step.text)
  end,
  cancel = function(nvim)
    nvim:command('PlimsollStop')
  end,
  steer = function(nvim, step)
    nvim:command('PlimsollSteer ' .. step.text)
  end,
  answer = function(nvim, step)
    nvim:command('PlimsollAnswer')
    if step.advice then
      nvim:lua([[local advice = ...; vim.ui.input = function(_, done) done(advice) end]], step.advice)
      nvim:keys('r')
    else
      nvim:keys(keys[step.choice])
    end
  end,
}

local REASONING = [[
  local texts = {}
  for _, block in ipairs(require('plimsoll.session').current.conversation.blocks) do
    if block.kind == 'reasoning' and block.text ~= '' then
      table.insert(texts, block.text)
    end
  end
  return texts
]]

--- What the conversation must have come to before the user acts: the end of what the daemon says before.
local function before(steps, index)
  local seq, asks, text
  for i = 1, index - 1 do
    local event = steps[i].event
    if event and event.seq then
      seq = event.seq
      asks = event.type == 'permissionAsked'
      text = nil
    elseif steps[i].deltas and steps[i].deltas.type == 'textDelta' then
      text = steps[i].pieces[#steps[i].pieces]
    end
  end
  return seq, asks, text
end

local SHOWS = [[
  local shown = {}
  for _, block in ipairs(require('plimsoll.session').current.conversation.blocks) do
    if block.kind == 'user' then
      table.insert(shown, { 'user', vim.trim(table.concat(block.lines, '\n')) })
    elseif block.kind == 'text' and block.text ~= '' then
      table.insert(shown, { 'assistant', block.text })
    elseif block.kind == 'call' then
      table.insert(shown, { 'call', block.call.tool, block.call.status })
    elseif block.kind == 'notice' then
      table.insert(shown, { 'notice' })
    end
  end
  return shown
]]

local function play(name)
  return machine.with({}, function(m)
    local case = vim.json.decode(machine.read_file(('%s/cases/%s.json'):format(folder, name)))
    local state = m.folder .. '/case.json'
    m.env.PLIMSOLL_CONFORMANCE_STATE = state
    local function verdict()
      local ok, kept = pcall(function()
        return vim.json.decode(machine.read_file(state))
      end)
      return ok and kept or {}
    end
    local nvim = m:nvim({ setup = ('{ command = { "node", %q, %q } }'):format(server, name) })
    nvim:command('Plimsoll')
    nvim:session()
    for index, step in ipairs(case.steps) do
      if step.user then
        local seq, asks, text = before(case.steps, index)
        local ok, fault = pcall(
          nvim.waits,
          nvim,
          ('what comes before step %d'):format(index),
          ([[
          (require('plimsoll.session').current.seq >= %d
          and (not %s or #require('plimsoll.session').current.conversation.asks > 0)
          and table.concat(require('plimsoll.session').current.conversation:lines(), '\n'):find(%q, 1, true) ~= nil)
        ]]):format(seq or 0, tostring(asks or false), text or '')
        )
        assert(ok, tostring(fault) .. '\n' .. vim.inspect(verdict().verdict))
        if step.user.sees then
          machine.wait('the reasoning that the user sees: ' .. step.user.sees.reasoning, function()
            return vim.deep_equal(nvim:lua(REASONING), { step.user.sees.reasoning })
          end)
        end
        does[step.user.does](nvim, step.user)
      end
    end
    local last = machine.wait('the verdict', function()
      local said = verdict().verdict
      return said and not vim.startswith(said, 'closed') and said
    end)
    assert(last == 'passed', last)
    local wanted = case.shows
    machine.wait('what the case shows: ' .. vim.inspect(wanted), function()
      return vim.deep_equal(nvim:lua(SHOWS), wanted)
    end)
  end)
end

local tests = {}
local found = vim.fn.isdirectory(folder .. '/cases') == 1
for name, kind in vim.fs.dir(found and folder .. '/cases' or here) do
  if found and kind == 'file' and name:match('%.json$') then
    table.insert(tests, { name:gsub('%.json$', ''), play(name:gsub('%.json$', '')) })
  end
end
table.sort(tests, function(a, b)
  return a[1] < b[1]
end)
local missing = not found and 'there is no editor-clients/conformance'
  or vim.fn.executable('node') == 0 and 'there is no node; install Node.js 20 or newer'
if missing then
  tests = {
    {
      'all cases',
      function()
        error({ skip = missing }, 0)
      end,
    },
  }
end
return tests
