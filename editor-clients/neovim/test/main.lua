-- Runs the tests: `nvim --headless --clean -l main.lua [words]`. Each file of tests gives a list of {name, function}; a
-- function that raises an error has failed.

local here = vim.fs.dirname(vim.fs.normalize(vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p')))
package.path = here .. '/?.lua;' .. package.path
vim.opt.runtimepath:prepend(vim.fs.dirname(here))

local words = vim.list_slice(_G.arg, 1)
local function chosen(name)
  for _, word in ipairs(words) do
    if not name:find(word, 1, true) then
      return false
    end
  end
  return true
end

local passed, failed, skipped = 0, {}, 0
for _, file in ipairs({ 'unit', 'daemon', 'editor', 'conformance' }) do
  for _, test in ipairs(require(file)) do
    local name = file .. ': ' .. test[1]
    if chosen(name) then
      local begin = vim.uv.hrtime()
      local ok, fault = xpcall(test[2], function(fault)
        return type(fault) == 'table' and fault or debug.traceback(fault, 2)
      end)
      local ms = math.floor((vim.uv.hrtime() - begin) / 1e6)
      if ok then
        passed = passed + 1
        io.stdout:write(('ok    %s (%d ms)\n'):format(name, ms))
      elseif type(fault) == 'table' and fault.skip then
        skipped = skipped + 1
        io.stdout:write(('SKIP  %s: %s\n'):format(name, fault.skip))
      else
        table.insert(failed, name)
        io.stdout:write(('FAIL  %s (%d ms)\n%s\n'):format(name, ms, tostring(fault)))
      end
      io.stdout:flush()
    end
  end
end

io.stdout:write(('\n%d passed, %d failed, %d skipped\n'):format(passed, #failed, skipped))
os.exit(#failed == 0 and passed + skipped > 0 and 0 or 1)
