-- Defines commands and <Plug> maps; everything else is loaded when one of them is used.

if vim.g.loaded_plimsoll then
  return
end
vim.g.loaded_plimsoll = true

if vim.fn.has('nvim-0.10') == 0 then
  vim.api.nvim_create_user_command('Plimsoll', function()
    vim.notify('Plimsoll needs Neovim 0.10 or newer', vim.log.levels.ERROR)
  end, { nargs = '*', range = true })
  return
end

--- A command that calls a function of the plugin with its argument (nil without) and the command's own table.
local function command(name, action, options)
  vim.api.nvim_create_user_command(name, function(given)
    require('plimsoll')[action](given.args ~= '' and given.args or nil, given)
  end, options)
end

local function modes()
  return require('plimsoll.session').MODES
end

command('Plimsoll', 'command', { nargs = '*', range = true, desc = 'Open the conversation, and prompt with the text' })
command('PlimsollToggle', 'toggle', { desc = 'Open or close the conversation' })
command('PlimsollStop', 'stop', { desc = 'Stop the running turn' })
command('PlimsollSteer', 'steer', { nargs = '+', desc = 'Add to the running turn' })
command('PlimsollNew', 'new', { desc = 'Begin another session' })
command('PlimsollSessions', 'sessions', { desc = 'Choose a session of this project' })
command('PlimsollRename', 'rename', { nargs = '*', desc = 'Give the session another title' })
command('PlimsollCompact', 'compact', { nargs = '*', desc = 'Shorten the conversation for the model; with what to keep above all' })
command('PlimsollMode', 'mode', { nargs = '?', complete = modes, desc = 'Set or choose the permission mode' })
command('PlimsollAnswer', 'answer', { desc = 'Answer the question that waits' })
command('PlimsollTodos', 'todos', { desc = 'Show the todo list' })
command('PlimsollDiff', 'diff', { desc = 'Show the change under the cursor side by side' })
command('PlimsollReconnect', 'reconnect', { desc = 'Connect to the daemon again' })

for name, action in pairs({
  prompt = 'open',
  toggle = 'toggle',
  stop = 'stop',
  new = 'new',
  sessions = 'sessions',
  mode = 'mode',
  answer = 'answer',
  todos = 'todos',
  diff = 'diff',
}) do
  vim.keymap.set('n', ('<Plug>(plimsoll-%s)'):format(name), function()
    require('plimsoll')[action]()
  end, { desc = 'Plimsoll: ' .. name })
end
vim.keymap.set(
  'x',
  '<Plug>(plimsoll-prompt)',
  ':Plimsoll<CR>',
  { silent = true, desc = 'Plimsoll: prompt with these lines' }
)
