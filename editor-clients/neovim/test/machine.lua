-- A machine of its own for one test: temporary folders, a workspace, the scripted model configured, and Neovims that are
-- driven from outside as a user would: real keys, and a look at what stands there.

local model = require('model')

local M = {}
M.__index = M

--- Milliseconds that anything which must come is waited for. Generous: the computer may be busy.
M.PATIENCE = 60000

local plugin =
  vim.fs.dirname(vim.fs.dirname(vim.fs.normalize(vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p'))))

--- Waits until `condition` gives a value, and gives it.
function M.wait(what, condition)
  local value
  local ok = vim.wait(M.PATIENCE, function()
    value = condition()
    return value and value ~= vim.NIL
  end, 10)
  if not ok then
    error(('waited %d ms in vain for %s'):format(M.PATIENCE, what), 2)
  end
  return value
end

M.plugin = plugin

function M.write(path, text)
  vim.fn.mkdir(vim.fs.dirname(path), 'p')
  local file = assert(io.open(path, 'w'))
  file:write(text)
  file:close()
  return path
end

--- @param options? {mode?: string}
function M.start(options)
  local self = setmetatable({ nvims = {} }, M)
  self.folder =
    assert(vim.uv.fs_realpath(assert(vim.uv.fs_mkdtemp((vim.env.TMPDIR or '/tmp') .. '/plimsoll-nvim-XXXXXX'))))
  for _, name in ipairs({ 'home', 'config', 'data', 'run', 'work', 'state' }) do
    vim.fn.mkdir(self.folder .. '/' .. name, '', 448)
  end
  self.work = self.folder .. '/work'
  self.env = {
    HOME = self.folder .. '/home',
    PLIMSOLL_CONFIG_DIR = self.folder .. '/config',
    PLIMSOLL_DATA_DIR = self.folder .. '/data',
    PLIMSOLL_RUNTIME_DIR = self.folder .. '/run',
    XDG_RUNTIME_DIR = self.folder .. '/run',
    XDG_STATE_HOME = self.folder .. '/state',
    XDG_DATA_HOME = self.folder .. '/state',
    XDG_CONFIG_HOME = self.folder .. '/state',
    XDG_CACHE_HOME = self.folder .. '/state',
    PATH = vim.env.PATH,
    LANG = 'C.UTF-8',
    TERM = 'xterm',
  }
  self.model = model.start()
  M.write(
    self.folder .. '/config/config.toml',
    table.concat({
      'model = "test/scripted"',
      '[providers.test]',
      'api = "openai-chat"',
      ('base_url = "%s"'):format(self.model.url),
      '[providers.test.models.scripted]',
      'context_window = 200000',
      'max_output = 8192',
      '[permissions]',
      ('mode = "%s"'):format(options and options.mode or 'ask'),
      '',
    }, '\n')
  )
  return self
end

--- Runs a test with a machine, which is gone afterwards. The model must have been asked exactly what the script says.
function M.with(options, test)
  return function()
    local machine = M.start(options)
    local ok, fault = xpcall(test, function(fault)
      if type(fault) == 'table' then
        return fault
      end
      local screens = {}
      for _, nvim in ipairs(machine.nvims) do
        local seen, screen = pcall(nvim.screen, nvim)
        table.insert(screens, seen and screen or 'a Neovim that does not answer')
      end
      return debug.traceback(fault, 2) .. '\n' .. table.concat(screens, '\n' .. ('='):rep(80) .. '\n')
    end, machine)
    local left = machine:stop()
    if not ok then
      error(fault, 0)
    end
    assert(#machine.model.violations == 0, 'requests without a step: ' .. vim.inspect(machine.model.violations))
    assert(#machine.model.steps == 0, 'steps that no request took')
    assert(left == '', 'processes that outlived their Neovim: ' .. left)
  end
end

--- A test with this name: see `with`.
function M.test(name, options, test)
  return { name, M.with(options, test) }
end

function M:path(name)
  return self.work .. '/' .. name
end

function M:file(name, text)
  return M.write(self:path(name), text)
end

--- The text of a file, or nil.
function M.read_file(path)
  local file = io.open(path)
  local text = file and file:read('*a')
  if file then
    file:close()
  end
  return text
end

--- Runs the binary to its end.
function M:run(...)
  return vim
    .system({ vim.env.PLIMSOLL_BIN, ... }, { env = self.env, clear_env = true, cwd = self.work, text = true })
    :wait(M.PATIENCE)
end

--- The process number of the daemon that runs, or nil.
function M:daemon()
  local status = self:run('status', '--json')
  return status.code == 0 and vim.json.decode(status.stdout).pid or nil
end

-- A driven Neovim -----------------------------------------------------------------------------------------------------

local Nvim = {}
Nvim.__index = Nvim

--- Starts a Neovim with the plugin, in the workspace, with a screen of 80 columns.
--- @param options? {setup?: string|false, file?: string, columns?: integer, lines?: integer}
function M:nvim(options)
  options = options or {}
  local command = { vim.env.NVIM_BIN, '--clean', '--embed', '--headless', '-i', 'NONE', '-n' }
  vim.list_extend(command, { '--cmd', 'set rtp^=' .. plugin .. ' notermguicolors' })
  table.insert(command, options.file)
  local nvim = setmetatable({ machine = self }, Nvim)
  nvim.channel = vim.fn.jobstart(command, {
    rpc = true,
    cwd = self.work,
    clear_env = true,
    env = vim.tbl_extend('force', self.env, { PLIMSOLL_BIN = vim.env.PLIMSOLL_BIN }),
  })
  assert(nvim.channel > 0, 'this Neovim cannot be started')
  table.insert(self.nvims, nvim)
  nvim:lua(
    [[
    vim.o.columns, vim.o.lines = ...
    _G.said = {}
    vim.notify = function(text, level)
      table.insert(_G.said, text)
    end
  ]],
    options.columns or 80,
    options.lines or 24
  )
  if options.setup ~= false then
    nvim:lua(([[require('plimsoll').setup(vim.tbl_deep_extend('force', {
      command = vim.env.PLIMSOLL_BIN,
      permission = { delay = 0 },
    }, %s))]]):format(options.setup or '{}'))
  end
  return nvim
end

--- Runs Lua there and gives its result.
function Nvim:lua(code, ...)
  return vim.rpcrequest(self.channel, 'nvim_exec_lua', code, { ... })
end

function Nvim:command(command)
  vim.rpcrequest(self.channel, 'nvim_command', command)
end

--- Types keys, as `<CR>` and the like.
function Nvim:keys(keys)
  vim.rpcrequest(self.channel, 'nvim_input', keys)
end

--- The lines of the conversation.
function Nvim:lines()
  return self:lua([[
    local view = package.loaded['plimsoll.view']
    return view and view.current and vim.api.nvim_buf_get_lines(view.current.buf, 0, -1, false) or {}
  ]])
end

function Nvim:text()
  return table.concat(self:lines(), '\n')
end

--- Waits until the conversation contains a text.
function Nvim:sees(text)
  M.wait(('"%s" in the conversation'):format(text), function()
    return self:text():find(text, 1, true)
  end)
end

--- Waits until the user was told a text.
function Nvim:hears(text)
  M.wait(('"%s" in the messages'):format(text), function()
    return table.concat(self:lua('return _G.said'), '\n'):find(text, 1, true)
  end)
end

--- Waits until an expression is true there.
function Nvim:waits(what, expression)
  M.wait(what, function()
    return self:lua('return ' .. expression)
  end)
end

--- What stands on the screen.
function Nvim:screen()
  return self:lua([[
    vim.cmd.redraw()
    local rows = {}
    for row = 1, vim.o.lines do
      local cells = {}
      for column = 1, vim.o.columns do
        table.insert(cells, vim.fn.screenstring(row, column))
      end
      table.insert(rows, (table.concat(cells):gsub('%s+$', '')))
    end
    return table.concat(rows, '\n')
  ]])
end

--- Waits until the screen shows a text.
function Nvim:shows(text)
  M.wait(('"%s" on the screen'):format(text), function()
    return self:screen():find(text, 1, true)
  end)
end

--- The id of the session that is shown.
function Nvim:session()
  return M.wait('a session', function()
    return self:lua([[
      local sessions = package.loaded['plimsoll.session']
      return sessions and sessions.current and sessions.current.id or vim.NIL
    ]]) ~= vim.NIL and self:lua([[return require('plimsoll.session').current.id]])
  end)
end

--- Opens the conversation and waits until it is there.
function Nvim:open()
  self:command('Plimsoll')
  self:session()
  self:waits('the prompt', [[vim.api.nvim_buf_get_name(0):find('plimsoll://prompt', 1, true) ~= nil]])
end

--- Waits until the turn has ended and all of it is shown.
function Nvim:idle()
  self:waits(
    'the end of the turn',
    [[vim.iter(vim.fn.win_findbuf(require('plimsoll.view').current.buf)):any(function(win)
      return vim.wo[win].winbar:find('· ready', 1, true) ~= nil
    end)]]
  )
end

--- Waits until a question takes an answer.
function Nvim:asked()
  self:waits('the question', [[require('plimsoll.permission').ready()]])
end

--- The process numbers of this Neovim and of its bridge.
function Nvim:processes()
  return self:lua([[return { vim.uv.os_getpid(), unpack(vim.api.nvim_get_proc_children(vim.uv.os_getpid())) }]])
end

--- Ends this Neovim as a user does.
function Nvim:quit()
  pcall(vim.rpcnotify, self.channel, 'nvim_command', 'qall!')
  vim.fn.jobwait({ self.channel }, M.PATIENCE)
end

--- Whether a process runs. One that has ended and that nobody has waited for does not.
function M.runs(pid)
  local stat = M.read_file(('/proc/%d/stat'):format(pid))
  if stat then
    return stat:match('%) (%a)') ~= 'Z'
  end
  return vim.fn.isdirectory('/proc/self') == 0 and vim.uv.kill(pid, 0) == 0
end

--- Ends everything. Gives the bridges that outlived their Neovim.
function M:stop()
  local bridges = {}
  for _, nvim in ipairs(self.nvims) do
    local ok, processes = pcall(nvim.processes, nvim)
    vim.list_extend(bridges, ok and vim.list_slice(processes, 2) or {})
    nvim:quit()
  end
  local left = {}
  local gone = vim.wait(5000, function()
    left = vim.tbl_filter(M.runs, bridges)
    return #left == 0
  end, 20)
  self:run('stop')
  self.model:stop()
  vim.fn.delete(self.folder, 'rf')
  return gone and '' or table.concat(left, ', ')
end

return M
