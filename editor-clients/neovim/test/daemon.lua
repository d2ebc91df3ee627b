-- A conversation with the real daemon: prompts, questions, stops, and connections that end.

local machine = require('machine')
local model = require('model')

local test, wait = machine.test, machine.wait

--- How often a text stands in the conversation.
local function count(nvim, text)
  return select(2, nvim:text():gsub(vim.pesc(text), ''))
end

--- What the model was sent last, as text.
local function last_request(m)
  return vim.json.encode(m.model.requests[#m.model.requests].messages)
end

return {
  test('a prompt is streamed, a call asks and is allowed by a key', {}, function(m)
    m:file('a.txt', 'alpha\n')
    local gate = model.gate()
    m.model:push(
      model.calls({ 'read_file', { target_file = 'a.txt' } }, { 'run_terminal_cmd', { command = 'cat a.txt > b.txt' } }),
      model.say({ reasoning = 'Let me see.\n' }, 'It says ', gate, '**alpha**.\n\nDone.')
    )
    local nvim = m:nvim({ file = m:path('a.txt') })
    nvim:open()
    nvim:keys('iWhat does a.txt say?<C-s>')
    nvim:asked()
    for _, part in ipairs({
      'Plimsoll asks',
      'run cat a.txt > b.txt',
      'For session and always: run_terminal_cmd(=cat a.txt > b.txt)',
      'y once · s session · a always · n no · r no, and say why',
    }) do
      nvim:shows(part)
    end
    nvim:keys('y')
    nvim:sees('It says')
    assert(not nvim:text():find('alpha**', 1, true), 'the answer came before it was said')
    model.open(gate)
    nvim:idle()
    assert(m.read_file(m:path('b.txt')) == 'alpha\n')
    local text = nvim:text()
    for _, line in ipairs({
      '▌ You\nWhat does a.txt say?\n\n▌ Plimsoll\n✓ read a.txt · 1 of 1 lines\n',
      '✓ run cat a.txt > b.txt · allowed once\n',
      '\n\nIt says **alpha**.\n\nDone.\n\n─ 200 in, 20 out',
    }) do
      assert(text:find(line, 1, true), line .. ' is missing in\n' .. text)
    end
    -- Calls and thoughts are one line each until they are unfolded.
    nvim:shows('Thought')
    local screen = nvim:screen()
    assert(not screen:find('Let me see', 1, true), screen)
    assert(nvim:lua([[return require('plimsoll').statusline()]]):find('plimsoll: ready', 1, true))
  end),

  test('a rejection carries advice, and a question that is put off can be answered later', {}, function(m)
    m.model:push(
      model.calls({ 'run_terminal_cmd', { command = 'touch made' } }),
      model.calls({ 'run_terminal_cmd', { command = 'touch other' } }),
      model.say('As you like.')
    )
    local nvim = m:nvim()
    nvim:open()
    nvim:keys('iMake it<C-s>')
    nvim:asked()
    nvim:keys('rname it other<CR>')
    nvim:sees('rejected: name it other')
    nvim:asked()
    nvim:keys('q')
    nvim:waits('the closed window', [[not require('plimsoll.permission').ready()]])
    assert(nvim:text():find('run touch other · waits for your answer', 1, true))
    nvim:keys('ga')
    nvim:asked()
    nvim:keys('s')
    nvim:sees('allowed for this session')
    nvim:sees('As you like.')
    nvim:idle()
    assert(last_request(m):find('name it other', 1, true))
    assert(m.read_file(m:path('made')) == nil and m.read_file(m:path('other')) == '')
  end),

  test('a question takes no key from who writes elsewhere', {}, function(m)
    m.model:push(model.calls({ 'run_terminal_cmd', { command = 'touch made' } }), model.say('Made.'))
    local nvim = m:nvim({ file = m:file('a.txt', 'alpha\n') })
    nvim:command('Plimsoll Make it')
    nvim:hears('asks: run touch made (:PlimsollAnswer)')
    nvim:keys('yyp')
    nvim:waits('the line that was put', [[vim.fn.getline(1, '$')[2] == 'alpha']])
    nvim:command('PlimsollAnswer')
    nvim:asked()
    nvim:keys('y')
    nvim:sees('Made.')
    nvim:idle()
  end),

  test('a message about a question with a long title fits in one line', {}, function(m)
    m.model:push(model.calls({ 'run_terminal_cmd', { command = 'touch ' .. ('x'):rep(90) } }), model.say('Made.'))
    local nvim = m:nvim({ file = m:file('a.txt', 'alpha\n') })
    nvim:command('Plimsoll Make it')
    nvim:hears(':PlimsollAnswer')
    local said = nvim:lua('return _G.said[#_G.said]')
    -- What Neovim itself shows at the end of the line takes 11 columns; a longer message waits for a key.
    assert(vim.fn.strdisplaywidth(said) < 80 - 11 and said:find('run touch xxx', 1, true), said)
    nvim:command('PlimsollAnswer')
    nvim:keys('y')
    nvim:sees('Made.')
    nvim:idle()
  end),

  test('who writes the next prompt is asked when that is done', {}, function(m)
    local gate = model.gate()
    m.model:push(
      model.say('Wait', gate),
      model.calls({ 'run_terminal_cmd', { command = 'touch made' } }),
      model.say('Made.')
    )
    m.model.steps[1].calls = { { 'run_terminal_cmd', { command = 'touch first' } } }
    local nvim = m:nvim()
    nvim:open()
    nvim:keys('iMake it<C-s>')
    nvim:sees('Wait')
    nvim:keys('iyes and')
    nvim:waits('the insertion', [[vim.api.nvim_get_current_line() == 'yes and']])
    model.open(gate)
    nvim:hears('asks: run touch first (:PlimsollAnswer)')
    nvim:keys(' now')
    nvim:waits('the insertion', [[vim.api.nvim_get_current_line() == 'yes and now']])
    nvim:keys('<Esc>')
    nvim:asked()
    nvim:keys('y')
    nvim:sees('run touch made')
    nvim:asked()
    nvim:keys('y')
    nvim:sees('Made.')
    nvim:idle()
    nvim:waits('the draft', [[vim.api.nvim_get_current_line() == 'yes and now']])
  end),

  test('keys that were typed before a question came do not answer it', {}, function(m)
    m.model:push(model.calls({ 'run_terminal_cmd', { command = 'touch made' } }), model.say('Made.'))
    local nvim = m:nvim({ setup = '{ permission = { delay = 3600000 } }' })
    nvim:open()
    nvim:keys('iMake it<C-s>')
    nvim:waits('the window', [[vim.api.nvim_win_get_config(0).relative == 'editor']])
    nvim:keys('y')
    nvim:waits('the key', [[vim.api.nvim_win_get_config(0).relative == 'editor']])
    assert(nvim:text():find('waits for your answer', 1, true))
    nvim:command('PlimsollAnswer')
    nvim:keys('y')
    nvim:sees('Made.')
    nvim:idle()
  end),

  test('the conversation is shortened by a command, which says what to keep', {}, function(m)
    -- What is worth to be shortened is told by what the provider counts.
    m.model.counts = true
    m:file('notes.txt', ('note: words and words and words\n'):rep(400))
    m.model:push(model.calls({ 'read_file', { target_file = 'notes.txt' } }))
    local nvim = m:nvim()
    nvim:open()
    for turn = 1, 5 do
      m.model:push(model.say(('Answer %d.'):format(turn)))
      nvim:keys((turn == 1 and 'iNever edit notes.txt<C-s>' or 'iGo on<C-s>'))
      nvim:sees(('Answer %d.'):format(turn))
      nvim:idle()
    end
    local gate = model.gate()
    local summary = {}
    for _, title in ipairs(model.SUMMARY) do
      vim.list_extend(summary, { '## ' .. title, 'The notes were read.', '' })
    end
    m.model:push(model.say('', gate, table.concat(summary, '\n')), model.say('Six.'))
    nvim:command('PlimsollCompact the names of the notes')
    nvim:waits('the activity', [[require('plimsoll.session').current:activity() == 'shortens the conversation']])
    wait('the request for a summary', function()
      return gate.reached
    end)
    assert(last_request(m):find('the names of the notes', 1, true), last_request(m))
    model.open(gate)
    nvim:sees('The conversation was shortened for the model')
    nvim:idle()
    nvim:keys('iAnd now?<C-s>')
    nvim:sees('Six.')
    nvim:idle()
    local sent = last_request(m)
    for _, part in ipairs({ 'The notes were read.', 'Never edit notes.txt', 'And now?' }) do
      assert(sent:find(part, 1, true), part .. ' is missing in\n' .. sent)
    end
    assert(not sent:find('words and words', 1, true), 'what was read is told in short')
  end),

  test('a turn is stopped by a key, and what came is kept', {}, function(m)
    local gate = model.gate()
    m.model:push(model.say('Once upon', gate, ' never'), model.say('Hello.'))
    local nvim = m:nvim()
    nvim:open()
    nvim:keys('iTell me<C-s>')
    nvim:sees('Once upon')
    nvim:keys('<C-c>')
    nvim:sees('─ stopped by you')
    nvim:idle()
    assert(nvim:text():find('Once upon\n\n(the answer was cut here)', 1, true), nvim:text())
    nvim:keys('iAgain<C-s>')
    nvim:sees('Hello.')
    nvim:idle()
  end),

  test('prompts wait behind a running turn, and the running turn can be steered', {}, function(m)
    local gate = model.gate()
    m.model:push(model.say('One', gate), model.say('Steered.'), model.say('Two'))
    local nvim = m:nvim()
    nvim:open()
    nvim:keys('iFirst<C-s>')
    nvim:sees('One')
    nvim:keys('iSecond<C-s>')
    nvim:hears('the prompt waits')
    nvim:waits('the count', [[require('plimsoll.session').current:activity() == 'works, 1 waiting']])
    nvim:command('PlimsollSteer Shorter!')
    nvim:waits('the answer', [[require('plimsoll.client').idle()]])
    model.open(gate)
    nvim:sees('Two')
    nvim:idle()
    local text = nvim:text()
    assert(text:find('▌ You, meanwhile\nShorter!\n\n▌ Plimsoll\nSteered.', 1, true), text)
    assert(text:find('▌ You\nSecond\n\n▌ Plimsoll\nTwo', 1, true), text)
  end),

  test('the daemon is killed in the middle of an answer: connected again, nothing lost or doubled', {}, function(m)
    local gate = model.gate()
    m.model:push(model.say('Before. '), model.say('Half an ans', gate), model.say('After.'))
    local nvim = m:nvim()
    nvim:open()
    nvim:keys('iFirst<C-s>')
    nvim:sees('Before. ')
    nvim:idle()
    nvim:keys('iSecond<C-s>')
    nvim:sees('Half an ans')
    local pid = assert(m:daemon())
    nvim:lua([[
      _G.states = {}
      require('plimsoll.client').listen({ changed = function()
        table.insert(_G.states, require('plimsoll.client').state)
      end })
    ]])
    assert(vim.uv.kill(pid, 'sigkill') == 0)
    nvim:sees('the daemon ended while this turn ran')
    nvim:idle()
    assert(m:daemon() ~= pid)
    local states = table.concat(nvim:lua('return _G.states'), ' ')
    assert(vim.startswith(states, 'waiting connecting') and vim.endswith(states, 'ready'), states)
    nvim:keys('iThird<C-s>')
    nvim:sees('After.')
    nvim:idle()
    for _, said in ipairs({ 'Before.', 'First', 'Second', 'Third', 'After.', 'the daemon ended' }) do
      assert(count(nvim, said) == 1, said .. ' in\n' .. nvim:text())
    end
    -- Who comes later sees the same.
    local text, id = nvim:text(), nvim:session()
    local other = m:nvim()
    other:lua([[vim.ui.select = function(items, options, done) done(items[1]) end]])
    other:command('PlimsollSessions')
    wait('the same conversation', function()
      return other:text() == text
    end)
    assert(other:session() == id)
  end),

  test('a daemon that somebody stopped is started again by the next prompt, not before', {}, function(m)
    m.model:push(model.say('One.'), model.say('Two.'))
    local nvim = m:nvim()
    nvim:open()
    nvim:keys('iFirst<C-s>')
    nvim:sees('One.')
    nvim:idle()
    nvim:lua([[
      _G.states = {}
      require('plimsoll.client').listen({ changed = function()
        table.insert(_G.states, require('plimsoll.client').state)
      end })
    ]])
    m:run('stop')
    nvim:waits('the end', [[require('plimsoll.client').state == 'stopped']])
    assert(not m:daemon())
    assert(nvim:lua([[return require('plimsoll').statusline()]]):find('the daemon was stopped', 1, true))
    nvim:keys('iSecond<C-s>')
    nvim:sees('Two.')
    nvim:idle()
    assert(table.concat(nvim:lua('return _G.states'), ' ') == 'stopped connecting ready')
    for _, said in ipairs({ 'First', 'One.', 'Second', 'Two.' }) do
      assert(count(nvim, said) == 1, said .. ' in\n' .. nvim:text())
    end
  end),

  test('the bridge is killed in the middle of an answer: the answer goes on where it was', {}, function(m)
    local first, second = model.gate(), model.gate()
    m.model:push(model.say('One, ', first, 'two, ', second, 'three.'))
    local nvim = m:nvim()
    nvim:open()
    nvim:keys('iCount<C-s>')
    nvim:sees('One, ')
    assert(vim.uv.kill(nvim:processes()[2], 'sigkill') == 0)
    model.open(first)
    nvim:sees('One, two, ')
    model.open(second)
    nvim:idle()
    assert(count(nvim, 'One, two, three.') == 1 and count(nvim, 'One') == 1, nvim:text())
  end),

  test('Neovim is killed: its bridge ends, the turn goes on, and the next Neovim sees it', {}, function(m)
    local gate = model.gate()
    m.model:push(model.say('Half, ', gate, 'whole.'))
    local nvim = m:nvim()
    nvim:open()
    nvim:keys('iGo<C-s>')
    nvim:sees('Half, ')
    local processes = nvim:processes()
    assert(#processes == 2 and vim.uv.kill(processes[1], 'sigkill') == 0)
    wait('the end of the bridge', function()
      return not machine.runs(processes[2])
    end)
    model.open(gate)
    local other = m:nvim()
    other:lua([[vim.ui.select = function(items, options, done) done(items[1]) end]])
    other:command('PlimsollSessions')
    other:sees('Half, whole.')
    other:idle()
  end),

  test('a prompt that is sent while the daemon is gone is sent once it is there', {}, function(m)
    m.model:push(model.say('Here.'))
    local nvim = m:nvim()
    nvim:open()
    local pid = assert(m:daemon())
    nvim:lua([[vim.uv.kill(..., 'sigkill'); require('plimsoll').command('Are you there?', { range = 0 })]], pid)
    nvim:sees('Here.')
    nvim:idle()
    assert(count(nvim, 'Are you there?') == 1, nvim:text())
  end),

  test('two Neovims follow one session; the first answer counts for both', {}, function(m)
    local gate = model.gate()
    m.model:push(
      model.calls({ 'run_terminal_cmd', { command = 'touch made' } }),
      model.say('Made ', gate, 'it.'),
      model.say('Again.')
    )
    local one, two = m:nvim(), m:nvim()
    one:open()
    one:keys('iMake it<C-s>')
    one:asked()
    two:lua([[vim.ui.select = function(items, options, done) done(items[1]) end]])
    two:command('PlimsollSessions')
    two:sees('waits for your answer')
    two:asked()
    two:keys('y')
    one:waits('the closed window', [[not require('plimsoll.permission').ready()]])
    one:sees('Made ')
    two:sees('Made ')
    model.open(gate)
    one:idle()
    two:idle()
    two:keys('iOnce more<C-s>')
    one:sees('Again.')
    one:idle()
    two:idle()
    wait('the same text in both', function()
      return one:text() == two:text()
    end)
    assert(count(one, 'allowed once') == 1, one:text())
  end),

  test('what the daemon refuses is told with its hint, and the next prompt works', {}, function(m)
    m.model:push({ status = 401 }, model.say('Well.'))
    local nvim = m:nvim()
    nvim:open()
    nvim:keys('iHello<C-s>')
    nvim:sees('─ the model failed')
    nvim:idle()
    nvim:keys('iHello<C-s>')
    nvim:sees('Well.')
    nvim:idle()
    m.write(m.folder .. '/config/config.toml', 'model = \n')
    nvim:keys('iHello again<C-s>')
    nvim:hears('config.toml')
    -- What was written stands in the prompt again.
    nvim:waits('the prompt', [[vim.api.nvim_get_current_line() == 'Hello again']])
  end),

  test('a daemon that cannot be started is told once, and works after the fault is mended', {}, function(m)
    m.model:push(model.say('Here.'))
    local nvim = m:nvim()
    m.write(m.folder .. '/data-is-a-file', '')
    nvim:lua([[vim.env.PLIMSOLL_DATA_DIR = ...]], m.folder .. '/data-is-a-file')
    nvim:command('Plimsoll Hello')
    nvim:hears('data-is-a-file')
    nvim:lua([[vim.env.PLIMSOLL_DATA_DIR = ...]], m.folder .. '/data')
    nvim:sees('Here.')
    nvim:idle()
    local told = select(2, table.concat(nvim:lua('return _G.said'), '\n'):gsub('data%-is%-a%-file', ''))
    assert(told >= 1, 'it was not told')
  end),

  test('a session that somebody deleted is left, and the next prompt begins another', {}, function(m)
    m.model:push(model.say('One.'), model.say('Two.'))
    local nvim, other = m:nvim(), m:nvim()
    nvim:open()
    nvim:keys('iFirst<C-s>')
    nvim:sees('One.')
    nvim:idle()
    local id = nvim:session()
    other:lua([[require('plimsoll.client').call('session/delete', { session = ... })]], id)
    nvim:hears(id)
    nvim:command('Plimsoll Second')
    nvim:sees('Two.')
    nvim:idle()
    assert(nvim:session() ~= id and not nvim:text():find('First', 1, true), nvim:text())
  end),
}
