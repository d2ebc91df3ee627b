-- Neovim's own RPC client (`vim.lsp.rpc`) on `plimsoll stdio`: opens the current folder, runs one turn, allows what is
-- asked, prints every event as a line of JSON. Run by `nvim --headless --clean -l`.

local PATIENCE = 60000
local events, ended = {}, false
local client

local dispatchers = {
  notification = function(method, params)
    if method ~= 'session/event' then
      return
    end
    local event = params.result
    table.insert(events, vim.json.encode(event))
    if event.type == 'permissionAsked' then
      client.request('permission/respond', { session = event.session, ask = event.ask.id, choice = 'allowOnce' }, function() end)
    elseif event.type == 'turnCompleted' then
      ended = true
    end
  end,
  on_error = function(code, fault)
    error(('%s: %s'):format(code, vim.inspect(fault)))
  end,
}

--- Calls a method and waits for its result.
local function call(method, params)
  local done, fault, result = false, nil, nil
  local sent = client.request(method, params, function(err, value)
    done, fault, result = true, err, value
  end)
  assert(sent, method .. ' could not be sent')
  assert(vim.wait(PATIENCE, function() return done end, 5), 'no answer to ' .. method)
  assert(not fault, method .. ': ' .. vim.inspect(fault))
  return result
end

client = vim.lsp.rpc.start({ vim.env.PLIMSOLL_BIN, 'stdio' }, dispatchers)
call('initialize', { clientInfo = { name = 'neovim' }, protocolVersion = '1.0' })
local project = call('project/open', { roots = { vim.fn.getcwd() } })
local session = call('session/create', { project = project.key })
call('session/attach', { session = session.id })
call('turn/start', { session = session.id, text = 'What does a.txt say?' })
assert(vim.wait(PATIENCE, function() return ended end, 5), 'the turn did not end')
io.stdout:write(table.concat(events, '\n') .. '\n')
client.terminate()
