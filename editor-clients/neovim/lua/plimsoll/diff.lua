--- A unified difference as two texts side by side, in Neovim's own diff mode.

local M = {}

--- @class plimsoll.Hunk
--- @field before_at integer first line before, from 1 (0: there is none)
--- @field after_at integer first line after
--- @field before string[]
--- @field after string[]

--- The hunks of a unified difference without file names.
--- @param diff string
--- @return plimsoll.Hunk[]
function M.parse(diff)
  local hunks, hunk = {}, nil
  for line in vim.gsplit(diff, '\n', { plain = true }) do
    local before_at, after_at = line:match('^@@ %-(%d+),?%d* %+(%d+),?%d* @@')
    local mark, text = line:sub(1, 1), line:sub(2)
    if before_at then
      hunk = { before_at = tonumber(before_at), after_at = tonumber(after_at), before = {}, after = {} }
      table.insert(hunks, hunk)
    elseif hunk and mark == ' ' then
      table.insert(hunk.before, text)
      table.insert(hunk.after, text)
    elseif hunk and mark == '-' then
      table.insert(hunk.before, text)
    elseif hunk and mark == '+' then
      table.insert(hunk.after, text)
    end
    -- A line that begins with a backslash says that a file ends without a line end: no line of its own.
  end
  return hunks
end

--- The text on the other side of a difference, or nil when it does not fit.
--- @param lines string[] the text on the side `from`
--- @param from 'before'|'after'
function M.across(lines, hunks, from)
  local to = from == 'before' and 'after' or 'before'
  local result, at = {}, 1
  for _, hunk in ipairs(hunks) do
    local first = hunk[from .. '_at']
    -- Of an empty side the line before it is named.
    first = #hunk[from] == 0 and first + 1 or first
    if first < at then
      return nil
    end
    for i = at, first - 1 do
      if lines[i] == nil then
        return nil
      end
      table.insert(result, lines[i])
    end
    for i, line in ipairs(hunk[from]) do
      if lines[first + i - 1] ~= line then
        return nil
      end
    end
    vim.list_extend(result, hunk[to])
    at = first + #hunk[from]
  end
  for i = at, #lines do
    table.insert(result, lines[i])
  end
  return result
end

--- Both sides from the difference alone: its hunks with their places.
local function excerpt(hunks)
  local before, after = {}, {}
  for _, hunk in ipairs(hunks) do
    local place = ('@@ -%d +%d @@'):format(hunk.before_at, hunk.after_at)
    table.insert(before, place)
    table.insert(after, place)
    vim.list_extend(before, hunk.before)
    vim.list_extend(after, hunk.after)
  end
  return before, after
end

--- Both sides of a change: whole when the file stands on one of them, else only what the difference says.
--- @param change table Change
--- @param lines? string[] the file as it is now
--- @return string[] before
--- @return string[] after
function M.sides(change, lines)
  local hunks = M.parse(change.diff or '')
  if (change.cut or 0) == 0 then
    lines = lines or {}
    local before = M.across(lines, hunks, 'after')
    if before then
      return before, lines
    end
    local after = M.across(lines, hunks, 'before')
    if after then
      return lines, after
    end
  end
  return excerpt(hunks)
end

local function read(path)
  local ok, lines = pcall(vim.fn.readfile, path)
  return ok and lines or nil
end

local function scratch(name, lines, filetype)
  local buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modifiable = false
  vim.bo[buf].bufhidden = 'wipe'
  vim.bo[buf].filetype = filetype or ''
  pcall(vim.api.nvim_buf_set_name, buf, ('plimsoll-diff://%d/%s'):format(buf, name))
  vim.keymap.set('n', 'q', '<Cmd>tabclose<CR>', { buffer = buf, desc = 'Plimsoll: close the differences' })
  return buf
end

--- Shows a change in a tab page of its own, before at the left and after at the right; `q` closes it.
--- @param change table Change
function M.open(change)
  local before, after = M.sides(change, read(change.path))
  local filetype = vim.filetype.match({ filename = change.path })
  local name = vim.fn.fnamemodify(change.path, ':.')
  vim.cmd.tabnew()
  vim.bo.bufhidden = 'wipe'
  vim.api.nvim_win_set_buf(0, scratch(name .. ' (before)', before, filetype))
  vim.cmd.diffthis()
  vim.cmd('rightbelow vsplit')
  vim.api.nvim_win_set_buf(0, scratch(name .. ' (after)', after, filetype))
  vim.cmd.diffthis()
end

--- Shows one of several changes, chosen when there is a choice.
function M.choose(changes)
  if #changes == 0 then
    require('plimsoll.notify').warn('there is no change of a file here')
  elseif #changes == 1 then
    M.open(changes[1])
  else
    vim.ui.select(changes, {
      prompt = 'Change',
      format_item = function(change)
        return ('%s +%d −%d'):format(change.path, change.added or 0, change.removed or 0)
      end,
    }, function(change)
      if change then
        M.open(change)
      end
    end)
  end
end

return M
