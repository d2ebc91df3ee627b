--- `:checkhealth plimsoll`. Starts no daemon.

local config = require('plimsoll.config')

local M = {}

--- Milliseconds that a program may take to answer.
local PATIENCE = 10000

local function run(...)
  local command = config.command(...)
  local ok, done = pcall(function(...)
    return vim.system(..., { text = true }):wait(PATIENCE)
  end, command)
  if not ok then
    return { code = -1, stdout = '', stderr = tostring(done) }
  end
  return { code = done.code, stdout = vim.trim(done.stdout or ''), stderr = vim.trim(done.stderr or '') }
end

local function neovim(health)
  health.start('Neovim')
  local version = tostring(vim.version())
  if vim.fn.has('nvim-0.10') == 1 then
    health.ok('Neovim ' .. version)
  else
    health.error(('Neovim %s is too old'):format(version), 'Install Neovim 0.10 or newer.')
  end
  if pcall(vim.treesitter.language.inspect, 'markdown') then
    health.ok('the Markdown parser is there')
  else
    health.warn('there is no tree-sitter parser for Markdown: the conversation has plainer colours', {
      'Install a Neovim that ships its parsers, or run :TSInstall markdown markdown_inline.',
    })
  end
end

local function options(health)
  health.start('Options')
  config.get()
  for _, fault in ipairs(config.faults) do
    health.error(fault, 'Correct it in `vim.g.plimsoll` or in the call of `setup`; until then the defaults are used.')
  end
  if #config.faults == 0 then
    health.ok('no fault')
  end
end

--- Whether the binary can be used.
local function binary(health)
  health.start('Binary')
  local command = config.command()[1]
  local path = vim.fn.exepath(command)
  if path == '' then
    health.error(('`%s` is not an executable'):format(command), {
      'Install Plimsoll and see that its folder is in $PATH of Neovim (:echo $PATH),',
      "or name it: vim.g.plimsoll = { command = '/path/to/plimsoll' }.",
    })
    return false
  end
  local version = run('--version')
  if version.code ~= 0 or not version.stdout:match('^plimsoll ') then
    health.error(
      ('`%s` does not answer --version as Plimsoll does: %s'):format(path, version.stderr .. version.stdout),
      {
        'See that the option `command` names the binary of Plimsoll.',
      }
    )
    return false
  end
  health.ok(('%s (%s)'):format(version.stdout, path))
  return true
end

local function daemon(health)
  health.start('Daemon')
  local status = run('status', '--json')
  if status.code == 3 then
    health.ok('no daemon runs; the first prompt starts one')
  elseif status.code ~= 0 then
    health.error('the daemon cannot be reached: ' .. status.stderr, {
      'Run `plimsoll doctor` in a terminal: it says what is wrong and what to do.',
    })
  else
    local ok, about = pcall(vim.json.decode, status.stdout)
    about = ok and type(about) == 'table' and about or {}
    health.ok(('it runs: process %s, version %s'):format(about.pid or '?', about.version or '?'))
    health.info('socket ' .. tostring(about.socket))
  end
  local client = package.loaded['plimsoll.client']
  local state = client and client.state or 'off'
  if state == 'ready' then
    health.ok('this Neovim is connected')
  elseif state == 'failed' or state == 'waiting' then
    health.warn('this Neovim is not connected', {
      'Mend what is named above, then :PlimsollReconnect.',
      'What the bridge said stands in ' .. vim.lsp.get_log_path(),
    })
  elseif state == 'stopped' then
    health.info('this Neovim is not connected: somebody stopped the daemon; a prompt or :PlimsollReconnect starts it')
  else
    health.info('this Neovim is not connected yet; :Plimsoll connects')
  end
end

function M.check()
  local health = vim.health
  neovim(health)
  options(health)
  if binary(health) then
    daemon(health)
  end
end

return M
