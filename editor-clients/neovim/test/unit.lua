-- The pure parts, and the view that brings a conversation into a buffer; no daemon.

local Conversation = require('plimsoll.conversation')
local diff = require('plimsoll.diff')
local tool = require('plimsoll.tool')

local function equal(expected, found)
  if not vim.deep_equal(expected, found) then
    error(('expected %s\nfound %s'):format(vim.inspect(expected), vim.inspect(found)), 2)
  end
end

--- The lines after these events.
local function check(events, expected)
  local conversation = Conversation.new()
  for _, event in ipairs(events) do
    conversation:apply(event)
  end
  equal(expected, conversation:lines())
  return conversation
end

local function text(offset, said, more)
  local event = { type = 'textDelta', turn = 1, step = 1, block = 0, offset = offset, text = said }
  return vim.tbl_extend('force', event, more or {})
end

local function item(kind, fields)
  return { type = 'itemAdded', item = vim.tbl_extend('force', { no = 1, turn = 1, step = 1, kind = kind }, fields) }
end

--- A conversation that a view shows; `draw` gives the buffer's lines without its first.
local function shown()
  local session = { id = ('unit-%d'):format(vim.uv.hrtime()), conversation = Conversation.new() }
  function session:activity()
    return 'works'
  end
  local view = require('plimsoll.view').new(session)
  return session.conversation,
    view,
    function()
      view:draw()
      return vim.api.nvim_buf_get_lines(view.buf, 1, -1, false)
    end
end

--- Numbers that are the same in every run.
local function random(seed)
  return function(limit)
    seed = (seed * 1103515245 + 12345) % 2147483648
    return math.floor(seed / 65536) % limit + 1
  end
end

local pieces = { 'a', 'word ', 'ä', '日本', '\n', '\n\n', '```\n', '- x', '\r\n', ' ', '🙂', '**b**' }

--- A text of `count` pieces, and where it may be cut.
local function some_text(dice, count)
  local parts = {}
  for i = 1, count do
    parts[i] = pieces[dice(#pieces)]
  end
  return parts
end

return {
  {
    'a turn reads as a conversation',
    function()
      check({
        { type = 'turnStarted', turn = 1 },
        item('user', { step = 0, text = 'Fix it\n' }),
        { type = 'stepStarted', turn = 1, step = 1, load = 0.5 },
        { type = 'reasoningDelta', turn = 1, step = 1, block = 0, offset = 0, text = 'Hm.' },
        text(0, 'I ', { block = 1 }),
        text(2, 'look.', { block = 1 }),
        item('reasoning', { text = 'Hm.' }),
        item('assistant', { text = 'I look.', cut = false }),
        item('toolCall', { call = 'c1', tool = 'read_file', arguments = '{}' }),
        item('toolCall', { call = 'c2', tool = 'run_terminal_cmd', arguments = '{"command":"make"}' }),
        { type = 'toolStarted', call = 'c1', title = 'read a.txt' },
        item('toolResult', { call = 'c1', tool = 'read_file', status = 'ok', text = 'alpha' }),
        { type = 'turnCompleted', turn = 1, stopReason = 'endTurn', usage = { input = 1500, output = 4 }, cost = 0.5 },
      }, {
        '▌ You',
        'Fix it',
        '',
        '▌ Plimsoll',
        '◦ Thought · 1 line',
        'Hm.',
        '',
        'I look.',
        '',
        '✓ read a.txt',
        '```',
        'alpha',
        '```',
        '! run_terminal_cmd {"command":"make"} · unknown whether it took effect',
        '',
        '─ 1.5k in, 4 out · $0.5000',
      })
    end,
  },
  {
    'what is known of a delta is not shown again, what was missed is filled by the item',
    function()
      local conversation = check(
        { text(0, 'Hello'), text(3, 'lo, '), text(7, 'you') },
        { '▌ Plimsoll', 'Hello, you' }
      )
      conversation:apply(text(5, ', y'))
      equal({ '▌ Plimsoll', 'Hello, you' }, conversation:lines())
      check({ text(5, 'you') }, { '▌ Plimsoll', 'you' })
      check({ text(5, 'you'), item('assistant', { text = 'Hey, you' }) }, { '▌ Plimsoll', 'Hey, you' })
      check({ text(5, 'you'), text(8, '!') }, { '▌ Plimsoll', 'you!' })
    end,
  },
  {
    'a block that begins again replaces what was there; one that is told again after a reconnect does not',
    function()
      check({ text(0, 'First try'), text(0, 'Second') }, { '▌ Plimsoll', 'Second' })
      -- What was behind it goes with it, and what stood in its place as another kind.
      check({ text(0, 'One'), text(0, 'Two', { block = 1 }), text(0, 'Uno') }, { '▌ Plimsoll', 'Uno' })
      check(
        { { type = 'reasoningDelta', turn = 1, step = 1, block = 0, offset = 0, text = 'Hm' }, text(0, 'Uno') },
        { '▌ Plimsoll', 'Uno' }
      )
      local conversation = check({ text(0, 'One, ') }, { '▌ Plimsoll', 'One, ' })
      conversation:followed_anew()
      conversation:apply(text(0, 'One, two'))
      conversation:apply(text(8, ', three'))
      equal({ '▌ Plimsoll', 'One, two, three' }, conversation:lines())
      conversation:followed_anew()
      conversation:apply(text(0, 'Another'))
      equal({ '▌ Plimsoll', 'Another' }, conversation:lines())
    end,
  },
  {
    'streamed text that became no item is gone with its step',
    function()
      local conversation = check({ text(0, 'lost') }, { '▌ Plimsoll', 'lost' })
      conversation:apply({ type = 'turnCompleted', turn = 1, stopReason = 'crashed', unsettled = {} })
      equal({ '─ the daemon ended while this turn ran' }, conversation:lines())
      -- The name of who said it goes with it, whatever came after.
      check({
        item('user', { text = 'x' }),
        text(0, 'lost'),
        item('notice', { cause = 'crashed', text = 'The daemon ended. All else is kept.' }),
        { type = 'turnCompleted', turn = 1, stopReason = 'crashed', message = 'The daemon ended.' },
        item('user', { text = 'y' }),
        text(0, 'z', { step = 2 }),
      }, {
        '▌ You',
        'x',
        '',
        '· The daemon ended. All else is kept.',
        '',
        '─ the daemon ended while this turn ran',
        '',
        '▌ You',
        'y',
        '',
        '▌ Plimsoll',
        'z',
      })
    end,
  },
  {
    'however a text is cut and repeated, the buffer has each byte once',
    function()
      for seed = 1, 60 do
        local dice = random(seed)
        local conversation, view, draw = shown()
        local parts = some_text(dice, 40)
        local whole = table.concat(parts)
        -- Where a delta may begin or end: between letters.
        local cuts, at = { 0 }, 0
        for _, part in ipairs(parts) do
          at = at + #part
          table.insert(cuts, at)
        end
        local sent = 1
        while sent < #cuts do
          if dice(9) == 1 then
            conversation:followed_anew()
            conversation:apply(text(0, whole:sub(1, cuts[sent])))
          end
          local from = math.max(sent - dice(3) + 1, 1)
          local to = math.min(sent + dice(4), #cuts)
          -- An offset of 0 is another try, unless nothing came yet.
          from = (cuts[from] == 0 and cuts[sent] > 0) and sent or from
          conversation:apply(text(cuts[from], whole:sub(cuts[from] + 1, cuts[to])))
          sent = to
          if dice(3) == 1 then
            draw()
          end
        end
        local expected =
          vim.list_extend({ '▌ Plimsoll' }, vim.split((whole:gsub('\r\n', '\n')), '\n', { plain = true }))
        equal(expected, draw())
        conversation:apply(item('assistant', { text = whole }))
        equal(expected, draw())
        vim.api.nvim_buf_delete(view.buf, { force = true })
      end
    end,
  },
  {
    'whatever changes where, the buffer has the conversation’s lines',
    function()
      for seed = 1, 40 do
        local dice = random(seed)
        local conversation, view, draw = shown()
        for step = 1, 60 do
          local call = 'c' .. dice(8)
          local made = {
            function()
              return item('user', { text = table.concat(some_text(dice, 5)) .. 'x' })
            end,
            function()
              return text(0, table.concat(some_text(dice, 6)) .. 'x', { block = dice(3) })
            end,
            function()
              return item('assistant', { text = table.concat(some_text(dice, 6)) .. 'x' })
            end,
            function()
              return item('toolCall', { call = call, tool = 'grep', arguments = '{}' })
            end,
            function()
              return { type = 'toolOutput', call = call, offset = 0, text = ('line\n'):rep(dice(5)) }
            end,
            function()
              return { type = 'toolStarted', call = call, title = 'run it' }
            end,
            function()
              return item('toolResult', { call = call, tool = 'grep', status = 'ok', text = ('x\n'):rep(dice(6)) })
            end,
            function()
              return { type = 'turnCompleted', turn = 1, stopReason = 'endTurn' }
            end,
            function()
              return { type = 'reasoningDelta', turn = 1, step = step, block = 0, offset = 0, text = 'why\nnot' }
            end,
            function()
              return { type = 'stepStarted', turn = 1, step = step }
            end,
          }
          conversation:apply(made[dice(#made)]())
          if dice(2) == 1 then
            equal(conversation:lines(), draw())
          end
        end
        equal(conversation:lines(), draw())
        -- Each line belongs to the block that says so.
        local lnum = 1
        for index, block in ipairs(conversation.blocks) do
          for line = 1, #block.lines do
            lnum = lnum + 1
            equal({ index, line }, { view:at(lnum) })
          end
        end
        vim.api.nvim_buf_delete(view.buf, { force = true })
      end
    end,
  },
  {
    'nobody else can write into a conversation',
    function()
      local conversation, view, draw = shown()
      conversation:apply(text(0, 'hello'))
      draw()
      local ok, fault = pcall(vim.api.nvim_buf_set_lines, view.buf, 0, 1, false, { 'x' })
      equal({ false, true }, { ok, tostring(fault):find("'modifiable'", 1, true) ~= nil })
      vim.api.nvim_buf_delete(view.buf, { force = true })
    end,
  },
  {
    'unknown events, items, states and fields change nothing that is known',
    function()
      check({
        { type = 'moonRisen' },
        item('hologram', { voxels = {} }),
        item('user', { text = 'x', mood = 'curious' }),
        item('toolResult', { call = 'c1', tool = 'new', status = 'postponed', data = { kind = 'hologram' } }),
        { type = 'turnCompleted', turn = 1, stopReason = 'sunrise' },
        { type = 'sessionChanged' },
      }, { '▌ You', 'x', '', '▌ Plimsoll', '· new', '', '─ ended: sunrise' })
    end,
  },
  {
    'a question stands in the line of its call, with its answer',
    function()
      local ask = {
        id = 'a1',
        call = 'c1',
        turn = 1,
        tool = 'run_terminal_cmd',
        title = 'run make',
        command = 'make',
        paths = {},
      }
      local conversation = check(
        { { type = 'permissionAsked', ask = ask } },
        { '▌ Plimsoll', '? run make · waits for your answer' }
      )
      equal(1, #conversation.asks)
      local answered = vim.tbl_extend('force', ask, {
        resolution = { type = 'answered', choice = 'reject', advice = 'use\ncargo' },
      })
      conversation:apply({ type = 'permissionResolved', ask = answered })
      equal({ '▌ Plimsoll', '○ run make · rejected: use cargo' }, conversation:lines())
      equal(0, #conversation.asks)
      -- One that comes again already answered asks nobody.
      conversation:apply({ type = 'permissionAsked', ask = answered })
      equal(0, #conversation.asks)
    end,
  },
  {
    'queued prompts are counted until their turns begin',
    function()
      local conversation = check({
        { type = 'turnStarted', turn = 1 },
        { type = 'turnQueued', turn = 2 },
        { type = 'turnQueued', turn = 2 },
        { type = 'turnQueued', turn = 3 },
      }, {})
      equal({ 1, 2 }, { conversation.turn, conversation.queued })
      conversation:apply({ type = 'turnCompleted', turn = 1, stopReason = 'endTurn' })
      conversation:apply({ type = 'turnStarted', turn = 2 })
      equal({ 2, 1 }, { conversation.turn, conversation.queued })
    end,
  },
  {
    'a compaction goes on until its end, or until a step begins',
    function()
      local conversation = check({ { type = 'compactionStarted', cause = 'manual' } }, {})
      equal(true, conversation.shortening)
      conversation:apply({ type = 'compactionFinished', message = 'interrupted' })
      equal(nil, conversation.shortening)
      equal({ 'The conversation was not shortened: interrupted.' }, conversation.blocks[#conversation.blocks].lines)
      conversation:apply({ type = 'compactionStarted', cause = 'load' })
      conversation:apply({ type = 'stepStarted', turn = 1, step = 1 })
      equal(nil, conversation.shortening)
    end,
  },
  {
    'a command says how it ended, and its output is cut between lines',
    function()
      local call = tool.new('c1')
      call.title, call.status = 'run make', 'ok'
      local data = { kind = 'command', command = 'make', durationMs = 2100, output = { head = 'x', tail = '' } }
      data.exit = { type = 'code', code = 2 }
      call.data = data
      equal('✗ run make · exit 2 · 2.1 s', (tool.head(call)))
      equal({ '```', 'x', '```' }, tool.body(call))
      data.exit, data.durationMs = { type = 'running' }, 5
      equal('… run make · goes on in the background', (tool.head(call)))
      call.ended = { exit = { type = 'code', code = 0 } }
      equal('✓ run make · ended in the background', (tool.head(call)))

      local running = tool.new('c2')
      for i = 0, 9999 do
        tool.output(running, i * 7, ('%06d\n'):format(i))
      end
      tool.output(running, 0, ('x'):rep(70000))
      equal({ 32 * 1024 - 32 * 1024 % 7, '009999\n' }, { #running.shown, running.shown:sub(-7) })
    end,
  },
  {
    'fences are longer than those within',
    function()
      equal({ '````', '```', 'x', '```', '````' }, tool.fenced('```\nx\n```\n'))
    end,
  },
  {
    'a difference leads from either side to the other',
    function()
      for seed = 1, 60 do
        local dice = random(seed)
        local before, after = {}, {}
        for i = 1, dice(40) do
          local line = ('line %d %d'):format(i, dice(3))
          local fate = dice(6)
          if fate ~= 1 then
            table.insert(before, line)
          end
          if fate ~= 2 then
            table.insert(after, fate == 3 and line .. ' new' or line)
          end
        end
        local function whole(lines)
          return table.concat(lines, '\n') .. (#lines > 0 and '\n' or '')
        end
        local change = { path = 'x', diff = vim.diff(whole(before), whole(after), { ctxlen = 3 }) }
        equal({ before, after }, { diff.sides(change, before) })
        equal({ before, after }, { diff.sides(change, after) })
      end
    end,
  },
  {
    'where the file is another, only what the difference says is shown',
    function()
      local change = { path = 'x', diff = '@@ -3,2 +3,2 @@\n same\n-old\n+new\n\\ No newline at end of file\n' }
      local before, after = diff.sides(change, { 'else' })
      equal({ { '@@ -3 +3 @@', 'same', 'old' }, { '@@ -3 +3 @@', 'same', 'new' } }, { before, after })
    end,
  },
  {
    'each durable event counts once, and what was missed comes again',
    function()
      local client, sessions = require('plimsoll.client'), require('plimsoll.session')
      local calls = {}
      local try = client.try
      client.try = function(method, params, callback)
        table.insert(calls, { method, params.after })
        if method == 'session/attach' then
          callback(nil, 'sub')
        end
      end
      local session = sessions.show({ id = ('unit-%d'):format(vim.uv.hrtime()), project = 'p' })
      local function take(seq, said)
        local event = item('user', { text = said })
        event.seq = seq
        session:take(event)
      end
      take(1, 'one')
      take(1, 'one')
      take(3, 'three')
      take(2, 'two')
      take(3, 'three')
      equal({ { 'session/attach', 0 }, { 'session/detach' }, { 'session/attach', 1 } }, calls)
      equal(
        'one two three',
        table.concat(
          vim.tbl_map(
            function(block)
              return block.kind == 'user' and block.lines[#block.lines] or nil
            end,
            vim.tbl_filter(function(block)
              return block.kind == 'user'
            end, session.conversation.blocks)
          ),
          ' '
        )
      )
      -- One that cannot be shown is told, and the next one is seen.
      local notify, told = vim.notify, nil
      vim.notify = function(message)
        told = message
      end
      session:take({ seq = 4, type = 'itemAdded', item = { kind = 'user', text = {} } })
      vim.notify = notify
      assert(told and told:find('`itemAdded` cannot be shown', 1, true), told)
      take(5, 'five')
      equal('five', session.conversation:lines()[#session.conversation:lines()])
      session:take({ type = 'closed', reason = 'storeFailed', message = 'no events' })
      equal({ 'session/attach', 5 }, calls[#calls])
      -- A daemon that ends is attached to by the next connection.
      local count = #calls
      session:take({ type = 'closed', reason = 'daemonEnds', message = 'the daemon ends' })
      equal({ count, nil }, { #calls, session.subscription })
      client.try = try
      sessions.current = nil
    end,
  },
  {
    'an option that does not exist is named, and the defaults are used',
    function()
      local config = require('plimsoll.config')
      local said
      local notify = vim.notify
      vim.notify = function(message)
        said = message
      end
      config.setup({ window = { positon = 'left' }, editor_delay = 'soon', roots = '/x' })
      vim.notify = notify
      assert(said:find('there is no option `window.positon`', 1, true), said)
      assert(said:find('option `editor_delay` is a string and must be a number', 1, true), said)
      equal(config.defaults.window.position, config.get().window.position)
      vim.notify = function(message)
        said = message
      end
      config.setup({ window = { position = 'middle' } })
      vim.notify = notify
      assert(said:find('option `window.position` is `middle` and must be one of auto, right', 1, true), said)
      config.setup({ window = { position = 'left' }, command = { 'x', 'y' } })
      equal({ 'left', { 'x', 'y', 'stdio' } }, { config.get().window.position, config.command('stdio') })
      config.setup({})
    end,
  },
}
