--- Options: the defaults, then `vim.g.plimsoll`, then what `setup` was given.

local M = {}

M.defaults = {
  -- The binary: a name that is looked for in $PATH, or a path. A list gives it arguments before `stdio`.
  command = 'plimsoll',
  -- The project's roots, absolute; the first names it. Nil: the folder above the file that has `.git`, else Neovim's own.
  roots = nil,
  window = {
    -- 'right', 'left', 'top', 'bottom' or 'tab'; 'auto': right where there is room for 80 columns of code beside it,
    -- else below.
    position = 'auto',
    -- Columns (right, left) or lines (top, bottom); below 1 a share of the screen.
    size = { upright = 0.4, flat = 0.6 },
    -- Lines of the window for the prompt.
    prompt = 4,
  },
  -- Whether the daemon is told which files are open, where the cursor is, and what is selected.
  editor_state = true,
  -- Milliseconds without a change before it is told.
  editor_delay = 300,
  permission = {
    -- Whether the question takes the focus when it comes while the conversation has it.
    focus = true,
    -- Milliseconds during which a question that took the focus by itself takes no answer: what was typed was not meant
    -- for it.
    delay = 400,
    keys = { once = 'y', session = 's', always = 'a', reject = 'n', advice = 'r', diff = 'd', later = 'q' },
  },
  -- Keys of the conversation (normal mode) and of the prompt; false for none.
  keys = {
    send = '<CR>',
    send_insert = '<C-s>',
    stop = '<C-c>',
    write = 'i',
    answer = 'ga',
    diff = 'gd',
    next = ']]',
    previous = '[[',
    close = 'q',
    help = 'g?',
  },
}

local positions = { 'auto', 'right', 'left', 'top', 'bottom', 'tab' }

--- Faults in what the user set: `checkhealth` shows them, too.
M.faults = {}

local function check(given, known, path, faults)
  for name, value in pairs(given) do
    local where = path .. tostring(name)
    local default = known[name]
    if default == nil and where ~= 'roots' then
      table.insert(faults, ('there is no option `%s`; see :help plimsoll-options'):format(where))
    elseif type(default) == 'table' and type(value) ~= 'table' then
      table.insert(faults, ('option `%s` is a %s and must be a table'):format(where, type(value)))
    elseif type(default) == 'table' then
      check(value, default, where .. '.', faults)
    elseif (type(default) == 'number' or type(default) == 'boolean') and type(value) ~= type(default) then
      table.insert(faults, ('option `%s` is a %s and must be a %s'):format(where, type(value), type(default)))
    elseif where == 'window.position' and not vim.tbl_contains(positions, value) then
      local known_words = table.concat(positions, ', ')
      table.insert(faults, ('option `%s` is `%s` and must be one of %s'):format(where, tostring(value), known_words))
    end
  end
end

local options

--- @param given? table
function M.setup(given)
  local faults = {}
  local asked = {}
  for _, layer in ipairs({ vim.g.plimsoll or {}, given or {} }) do
    check(layer, M.defaults, '', faults)
    asked = vim.tbl_deep_extend('force', asked, layer)
  end
  options = vim.tbl_deep_extend('force', vim.deepcopy(M.defaults), #faults == 0 and asked or {})
  M.faults = faults
  if #faults > 0 then
    require('plimsoll.notify').error(table.concat(faults, '\n') .. '\nThe defaults are used.')
  end
end

--- The options in force.
function M.get()
  if not options then
    M.setup()
  end
  return options
end

--- The command line of a subcommand.
--- @return string[]
function M.command(...)
  local command = M.get().command
  command = type(command) == 'table' and vim.deepcopy(command) or { command }
  command[1] = vim.fn.expand(command[1])
  return vim.list_extend(command, { ... })
end

--- The roots of the project that the current file belongs to.
--- @return string[]
function M.roots()
  local roots = M.get().roots
  if type(roots) == 'function' then
    roots = roots()
  end
  if roots then
    return vim.tbl_map(vim.fs.normalize, type(roots) == 'table' and roots or { roots })
  end
  local here = vim.bo.buftype == '' and vim.api.nvim_buf_get_name(0) or ''
  local root = vim.fs.root(here ~= '' and vim.fn.filereadable(here) == 1 and here or vim.fn.getcwd(), '.git')
  return { root or vim.fn.getcwd() }
end

return M
