--- What each kind of item adds to a conversation: a function of the conversation and the item, by the item's kind. A kind
--- that is not here is one that a newer daemon knows; it adds nothing.

local split = require('plimsoll.text').split

local items = {}

function items.user(self, item)
  self:speaker(item.steering and 'You, meanwhile' or 'You', 'PlimsollUser')
  local lines = split(vim.trim(item.text or ''))
  for _, image in ipairs(item.images or {}) do
    table.insert(lines, ('[image %s, %s × %s]'):format(image.name or '', image.width or '?', image.height or '?'))
  end
  self:append({ kind = 'user', lines = lines, heads = 0, fold = false })
  -- What the agent says next is its answer to this.
  self.spoken = nil
end

function items.assistant(self, item)
  self:settle_text('text', item)
  if item.cut then
    self:note('(the answer was cut here)')
  end
end

function items.reasoning(self, item)
  self:settle_text('reasoning', item)
end

function items.toolCall(self, item)
  self:update_call(item.call, function(call)
    call.tool, call.arguments = item.tool, item.arguments
  end)
end

function items.toolResult(self, item)
  self:update_call(item.call, function(call)
    call.tool = call.tool or item.tool
    call.status, call.result, call.data = item.status or 'other', item.text, item.data
  end)
  local kind = type(item.data) == 'table' and item.data.kind
  self.edited = self.edited or kind == 'edit' or kind == 'command'
end

function items.notice(self, item)
  local lines = split('· ' .. item.text)
  self:append({ kind = 'notice', lines = lines, heads = #lines, fold = false, group = 'PlimsollNote' })
end

return items
