-- A scripted model server: Chat Completions over real HTTP on the loopback, one step per request, in order. It runs on
-- the event loop of the Neovim that runs the tests.

local M = {}
M.__index = M

--- The sections that a summary must have.
M.SUMMARY = {
  '1. Primary request and intent',
  '2. Key technical concepts',
  '3. Files and code sections',
  '4. Errors and fixes',
  '5. Problem solving',
  '7. Pending tasks',
  '8. Current work',
  '9. Next step and where to look',
}

--- A step that says these texts, one delta each. A table `{gate = true}` among them, made by `M.gate`, waits there until
--- `open` is called.
function M.say(...)
  return { parts = { ... } }
end

--- A step that calls tools, each {name, arguments}.
function M.calls(...)
  return { parts = {}, calls = { ... } }
end

function M.gate()
  return { reached = false, is_open = false }
end

function M.start()
  local self = setmetatable({ steps = {}, requests = {}, violations = {}, calls_made = 0, clients = {} }, M)
  self.server = assert(vim.uv.new_tcp())
  assert(self.server:bind('127.0.0.1', 0))
  assert(self.server:listen(64, function(fault)
    assert(not fault, fault)
    local client = assert(vim.uv.new_tcp())
    self.server:accept(client)
    self.clients[client] = true
    self:serve(client)
  end))
  self.url = ('http://127.0.0.1:%d/v1'):format(self.server:getsockname().port)
  return self
end

function M:push(...)
  vim.list_extend(self.steps, { ... })
end

local function close(self, client)
  self.clients[client] = nil
  if not client:is_closing() then
    client:close()
  end
end

--- Reads one request; the connection ends with its answer.
function M:serve(client)
  local got = ''
  client:read_start(function(fault, chunk)
    if fault or not chunk then
      client:read_stop()
      return close(self, client)
    end
    got = got .. chunk
    local head_end = got:find('\r\n\r\n', 1, true)
    local length = head_end and tonumber(got:sub(1, head_end):lower():match('content%-length: *(%d+)')) or 0
    if head_end and #got >= head_end + 3 + length then
      local body = got:sub(head_end + 4)
      got = ''
      self:answer(client, body)
    end
  end)
end

local HEAD = 'HTTP/1.1 %s\r\ncontent-type: %s\r\nconnection: close\r\n\r\n'

function M:answer(client, body)
  local request = vim.json.decode(body)
  table.insert(self.requests, request)
  local step = table.remove(self.steps, 1)
  local function finish(text)
    if client:is_closing() then
      return
    end
    client:write(text, function()
      close(self, client)
    end)
  end
  if not step then
    table.insert(self.violations, body:sub(-300))
    return finish(
      HEAD:format('400 Bad Request', 'application/json') .. '{"error":{"message":"the script has no step left"}}'
    )
  elseif step.status then
    return finish(
      HEAD:format(step.status .. ' Refused', 'application/json') .. '{"error":{"message":"refused by the script"}}'
    )
  end
  local function chunk(delta, reason)
    local choice = { index = 0, delta = delta, finish_reason = reason or vim.NIL }
    local data =
      { id = 'x', object = 'chat.completion.chunk', created = 1, model = request.model, choices = { choice } }
    return ('data: %s\n\n'):format(vim.json.encode(data))
  end
  client:write(HEAD:format('200 OK', 'text/event-stream') .. chunk({ role = 'assistant', content = '' }))
  local function rest()
    local text = ''
    for index, call in ipairs(step.calls or {}) do
      self.calls_made = self.calls_made + 1
      local made = { name = call[1], arguments = vim.json.encode(call[2]) }
      text = text
        .. chunk({
          tool_calls = {
            { index = index - 1, id = 'call_' .. self.calls_made, type = 'function', ['function'] = made },
          },
        })
    end
    text = text .. chunk(vim.empty_dict(), step.calls and 'tool_calls' or 'stop')
    local tokens = self.counts and math.ceil(#body / 4) or 100
    local usage = { prompt_tokens = tokens, completion_tokens = 10, total_tokens = tokens + 10 }
    text = text
      .. ('data: %s\n\n'):format(vim.json.encode({
        id = 'x',
        object = 'chat.completion.chunk',
        created = 1,
        model = request.model,
        choices = {},
        usage = usage,
      }))
    finish(text .. 'data: [DONE]\n\n')
  end
  local function say(index)
    local part = step.parts[index]
    if client:is_closing() then
      return
    elseif part == nil then
      return rest()
    elseif type(part) == 'string' then
      return client:write(chunk({ content = part }), function()
        say(index + 1)
      end)
    elseif part.reasoning then
      return client:write(chunk({ reasoning_content = part.reasoning }), function()
        say(index + 1)
      end)
    end
    part.reached = true
    part.go = function()
      say(index + 1)
    end
    if part.is_open then
      part.go()
    end
  end
  say(1)
end

--- Opens a gate.
function M.open(gate)
  gate.is_open = true
  if gate.go then
    gate.go()
  end
end

function M:stop()
  for client in pairs(self.clients) do
    if not client:is_closing() then
      client:close()
    end
  end
  self.server:close()
end

return M
