-- What makes it a plugin of this editor: commands, windows, what is open, differences, health and help.

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
  test('nothing is loaded at startup', {}, function(m)
    local nvim = m:nvim({ setup = false })
    local loaded = nvim:lua([[
      return vim.tbl_filter(function(name) return vim.startswith(name, 'plimsoll') end, vim.tbl_keys(package.loaded))
    ]])
    assert(#loaded == 0, vim.inspect(loaded))
    assert(nvim:lua([[return vim.fn.exists(':Plimsoll') == 2 and vim.fn.maparg('<Plug>(plimsoll-stop)', 'n') ~= nil]]))
    nvim:command('PlimsollStop')
    nvim:hears('no session is shown')
    assert(m:daemon() == nil, 'a daemon was started for nothing')
  end),

  test('ten thousand deltas arrive whole and in order', {}, function(m)
    local parts = {}
    for i = 1, 10000 do
      parts[i] = i % 13 == 0 and ('word %d\n'):format(i) or ('%d ä '):format(i)
    end
    m.model:push(model.say(table.concat(parts, '', 1, 10), unpack(parts, 11, 5000)), model.say('ok'))
    m.model.steps[1].parts[#m.model.steps[1].parts + 1] = table.concat(parts, '', 5001)
    local nvim = m:nvim()
    nvim:open()
    nvim:keys('iGo<C-s>')
    nvim:sees('─ 100 in')
    nvim:idle()
    assert(nvim:text():find(table.concat(parts), 1, true), 'the answer is not what was said')
    assert(
      nvim:lua([[
      local win = require('plimsoll.view').window()
      return vim.api.nvim_win_get_cursor(win)[1] == vim.api.nvim_buf_line_count(vim.api.nvim_win_get_buf(win))
    ]]),
      'the window did not follow'
    )
    nvim:keys('iMore<C-s>')
    nvim:sees('ok')
    nvim:idle()
  end),

  test('selected lines go beside the prompt: by place, or as text when they are not saved', {}, function(m)
    m:file('a.txt', 'one\ntwo\nthree\nfour\n')
    m.model:push(model.say('First.'), model.say('Second.'), model.say('Third.'))
    local nvim = m:nvim({ file = m:path('a.txt') })
    nvim:command('2,3Plimsoll What is this?')
    nvim:sees('First.')
    nvim:idle()
    local request = last_request(m)
    assert(
      request:find('two', 1, true) and request:find('three', 1, true) and not request:find('four', 1, true),
      request
    )
    nvim:lua([[vim.api.nvim_buf_set_lines(0, 0, 1, false, { 'unsaved' })]])
    nvim:command('1Plimsoll And this?')
    nvim:sees('Second.')
    nvim:idle()
    assert(last_request(m):find('unsaved', 1, true))
    -- Without text the prompt waits for it, with the lines beside it.
    nvim:keys('ggVj:Plimsoll<CR>')
    nvim:waits('the lines', [[vim.wo.winbar:find('a.txt:1-2', 1, true) ~= nil]])
    nvim:keys('iWhy?<C-s>')
    nvim:sees('Third.')
    nvim:idle()
  end),

  test('the daemon is told what is open and where the cursor is, once per change', {}, function(m)
    m:file('a.txt', 'one\ntwo\nthree\n')
    m.model:push(model.say('Seen.'))
    local nvim = m:nvim({ file = m:path('a.txt'), setup = '{ editor_delay = 20 }' })
    nvim:lua([[
      _G.told = {}
      local client = require('plimsoll.client')
      local try = client.try
      client.try = function(method, params, ...)
        if method == 'editor/state' then
          table.insert(_G.told, params)
        end
        return try(method, params, ...)
      end
    ]])
    nvim:command('Plimsoll What do I see?')
    nvim:sees('Seen.')
    nvim:keys('j')
    nvim:waits('the place', '_G.told[#_G.told] and _G.told[#_G.told].files[1].cursorLine == 2')
    nvim:keys('Vj')
    nvim:waits('the selection', [[vim.deep_equal(_G.told[#_G.told].files[1].selection, { start = 2, ['end'] = 3 })]])
    nvim:keys('<Esc>')
    nvim:waits('its end', '_G.told[#_G.told].files[1].selection == nil')
    local before = nvim:lua('return #_G.told')
    -- The cursor comes back to its line: nothing is new.
    nvim:lua(
      [[
      local before = ...
      vim.cmd.doautocmd('CursorMoved')
      vim.wait(200, function() return #_G.told > before end)
    ]],
      before
    )
    assert(nvim:lua('return #_G.told') == before, vim.inspect(nvim:lua('return _G.told')))
    local file = nvim:lua('return _G.told[#_G.told].files[1]')
    assert(file.path == m:path('a.txt') and file.focused and file.open and file.totalLines == 3, vim.inspect(file))
    nvim:idle()
  end),

  test('an edit is shown before it is allowed, side by side, and the open file follows', {}, function(m)
    m:file('a.txt', 'one\ntwo\nthree\n')
    m.model:push(
      model.calls({ 'read_file', { target_file = 'a.txt' } }),
      model.calls({ 'string_replace', { file_path = 'a.txt', old_string = 'two', new_string = 'TWO' } }),
      model.say('Changed.')
    )
    local nvim = m:nvim({ file = m:path('a.txt'), lines = 40 })
    nvim:open()
    nvim:keys('iShout<C-s>')
    nvim:asked()
    for _, part in ipairs({ 'edit a.txt', '-two', '+TWO', 'd diff' }) do
      nvim:shows(part)
    end
    nvim:keys('d')
    local SIDES = [[
      local sides = {}
      for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
        if vim.wo[win].diff then
          table.insert(sides, vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(win), 0, -1, false))
        end
      end
      return sides
    ]]
    local sides = { { 'one', 'two', 'three' }, { 'one', 'TWO', 'three' } }
    wait('both sides', function()
      return vim.deep_equal(nvim:lua(SIDES), sides)
    end)
    nvim:keys('q')
    nvim:waits('the tab page to be gone', 'vim.fn.tabpagenr("$") == 1')
    nvim:command('PlimsollAnswer')
    nvim:asked()
    nvim:keys('y')
    nvim:sees('Changed.')
    nvim:idle()
    nvim:waits('the open file', ([[vim.fn.getbufline(vim.fn.bufnr(%q), 2)[1] == 'TWO']]):format(m:path('a.txt')))
    nvim:command('PlimsollDiff')
    wait('both sides', function()
      return vim.deep_equal(nvim:lua(SIDES), sides)
    end)
    nvim:keys('q')
  end),

  test('sessions are listed and chosen, an empty one leaves no trace, mode and title are set', {}, function(m)
    m.model:push(model.say('One.'), model.say('Two.'))
    local nvim = m:nvim()
    nvim:open()
    local first = nvim:session()
    nvim:keys('iFirst prompt<C-s>')
    nvim:sees('One.')
    nvim:idle()
    nvim:command('PlimsollMode plan')
    nvim:waits('the mode', [[require('plimsoll.session').current.conversation.info.mode == 'plan']])
    nvim:command('PlimsollRename Another title')
    nvim:waits('the title', [[require('plimsoll.view').current:bar():find('Another title', 1, true) ~= nil]])
    nvim:command('PlimsollNew')
    nvim:waits('another session', ([[require('plimsoll.session').current.id ~= %q]]):format(first))
    nvim:waits('its view', [[#vim.api.nvim_buf_get_lines(require('plimsoll.view').current.buf, 0, -1, false) == 1]])
    nvim:lua([[
      vim.ui.select = function(items, options, done)
        _G.offered = vim.tbl_map(options.format_item, items)
        done(items[#items])
      end
    ]])
    nvim:command('PlimsollSessions')
    nvim:waits('the first session', ([[require('plimsoll.session').current.id == %q]]):format(first))
    nvim:sees('One.')
    assert(#nvim:lua('return _G.offered') == 2)
    -- The empty one is gone.
    nvim:command('PlimsollSessions')
    nvim:waits('one session', '#_G.offered == 1')
    assert(nvim:lua('return _G.offered[1]'):find('Another title', 1, true))
    nvim:keys('iSecond prompt<C-s>')
    nvim:sees('Two.')
    nvim:idle()
    nvim:command('PlimsollMode nonsense')
    nvim:hears('nonsense')
    -- One that is never used is gone with its Neovim, too.
    local other = m:nvim()
    other:open()
    other:quit()
    wait('one session', function()
      return select(2, m:run('sessions', '--json').stdout:gsub('"title"', '')) == 1
    end)
  end),

  test('the plan is shown', { mode = 'full' }, function(m)
    m.model:push(
      model.calls({
        'todo_write',
        {
          merge = false,
          todos = {
            { id = '1', content = 'Look', status = 'completed' },
            { id = '2', content = 'Leap', status = 'in_progress' },
          },
        },
      }),
      model.say('Planned.')
    )
    local nvim = m:nvim()
    nvim:command('PlimsollTodos')
    nvim:hears('no session is shown')
    nvim:open()
    nvim:keys('iPlan<C-s>')
    nvim:sees('Planned.')
    nvim:idle()
    nvim:sees('1 of 2 done')
    assert(nvim:text():find('- [x] Look\n- [>] Leap', 1, true), nvim:text())
    nvim:command('PlimsollTodos')
    nvim:waits(
      'the list',
      [[vim.iter(vim.api.nvim_list_wins()):any(function(win)
      return vim.api.nvim_win_get_config(win).relative ~= ''
        and vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(win), 1, 2, false)[1] == '- [>] Leap'
    end)]]
    )
  end),

  test('checkhealth says what is there, and starts no daemon', {}, function(m)
    m.model:push(model.say('Here.'))
    local nvim = m:nvim()
    local function health()
      nvim:command('checkhealth plimsoll')
      local text = table.concat(nvim:lua([[return vim.api.nvim_buf_get_lines(0, 0, -1, false)]]), '\n')
      nvim:command('bdelete')
      return text
    end
    local text = health()
    assert(text:find('OK no daemon runs', 1, true) and not text:find('ERROR', 1, true), text)
    assert(m:daemon() == nil, 'checkhealth started a daemon')
    nvim:command('Plimsoll Hello')
    nvim:sees('Here.')
    nvim:idle()
    text = health()
    assert(text:find(('OK it runs: process %d'):format(m:daemon()), 1, true), text)
    assert(text:find('OK this Neovim is connected', 1, true), text)

    local lost = m:nvim({ setup = '{ command = "no-such-plimsoll" }' })
    lost:command('Plimsoll')
    lost:hears('`no-such-plimsoll` is not an executable\ninstall Plimsoll')
    lost:command('checkhealth plimsoll')
    text = table.concat(lost:lua([[return vim.api.nvim_buf_get_lines(0, 0, -1, false)]]), '\n')
    assert(text:find('ERROR `no-such-plimsoll` is not an executable', 1, true), text)
    assert(text:find('ADVICE', 1, true), text)
  end),

  test('the help has its tags', {}, function(m)
    local nvim = m:nvim()
    local doc = m.folder .. '/doc'
    vim.fn.mkdir(doc)
    m.write(doc .. '/plimsoll.txt', assert(m.read_file(m.plugin .. '/doc/plimsoll.txt')))
    nvim:lua([[vim.cmd.helptags(...)]], doc)
    local tags = m.read_file(doc .. '/tags')
    local commands = nvim:lua([[
      return vim.tbl_filter(function(name) return vim.startswith(name, 'Plimsoll') end, vim.tbl_keys(vim.api.nvim_get_commands({})))
    ]])
    for _, name in ipairs(commands) do
      assert(tags:find((':%s\t'):format(name), 1, true), name .. ' is not in the help')
    end
    for _, tag in ipairs({ 'plimsoll-options', 'plimsoll-keys', 'plimsoll-highlights', '<Plug>(plimsoll-toggle)' }) do
      assert(tags:find(tag .. '\t', 1, true), tag .. ' is not in the help')
    end
    -- And all options.
    local help = m.read_file(m.plugin .. '/doc/plimsoll.txt')
    for _, name in ipairs(nvim:lua([[return vim.tbl_keys(require('plimsoll.config').defaults)]])) do
      assert(help:find(name, 1, true), name .. ' is not in the help')
    end
  end),

  test('a conversation whose buffers were deleted comes again, whole', {}, function(m)
    m.model:push(model.say('One.'), model.say('Two.'), model.say('Three.'))
    local nvim = m:nvim()
    nvim:open()
    nvim:keys('iFirst<C-s>')
    nvim:sees('One.')
    nvim:idle()
    for _, step in ipairs({ { 'bdelete', 'Two.' }, { 'bwipeout', 'Three.' } }) do
      nvim:lua(
        [[
        local command = ...
        for _, name in ipairs({ 'plimsoll://prompt', require('plimsoll.view').current and 'plimsoll://s' }) do
          for _, buf in ipairs(vim.api.nvim_list_bufs()) do
            if vim.startswith(vim.api.nvim_buf_get_name(buf), name) then
              vim.cmd[command]({ args = { tostring(buf) }, bang = true })
            end
          end
        end
      ]],
        step[1]
      )
      nvim:open()
      nvim:sees('One.')
      nvim:keys('iNext<C-s>')
      nvim:sees(step[2])
      nvim:idle()
      local lines = nvim:lines()
      assert(lines[2] == '▌ You' and lines[3] == 'First', nvim:text())
    end
  end),

  test('windows come and go together, and a draft stays', {}, function(m)
    local nvim = m:nvim()
    nvim:open()
    nvim:keys('ihalf a thou<Esc>')
    nvim:waits('the end of the insertion', 'vim.api.nvim_get_mode().mode == "n"')
    nvim:keys('<C-w>k:q<CR>')
    nvim:waits('both windows to be gone', '#vim.api.nvim_tabpage_list_wins(0) == 1')
    nvim:command('PlimsollToggle')
    nvim:waits('both windows', '#vim.api.nvim_tabpage_list_wins(0) == 3')
    nvim:waits('the draft', [[vim.api.nvim_get_current_line() == 'half a thou']])
    nvim:keys('q')
    nvim:waits('both windows to be gone', '#vim.api.nvim_tabpage_list_wins(0) == 1')
    -- Options of the conversation's window do not stay behind.
    assert(nvim:lua([[return vim.wo.winbar == '' and vim.wo.foldmethod == 'manual' and vim.wo.foldcolumn == '0']]))
  end),
}
