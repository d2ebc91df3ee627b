--- How a turn ended, as one line. Pure.

local M = {}

local words = {
  maxTokens = 'stopped: the answer reached its limit of tokens',
  maxSteps = 'stopped: the turn reached its limit of steps',
  limit = 'stopped at a limit',
  refusal = 'the model refused',
  cancelled = 'stopped by you',
  modelError = 'the model failed',
  storeError = 'the store could not be written',
  crashed = 'the daemon ended while this turn ran',
  internal = 'a fault of Plimsoll',
}

local function thousands(count)
  return count < 1000 and tostring(count) or ('%.1fk'):format(count / 1000)
end

--- @param event table `turnCompleted`
--- @param notice? string the notice before it: what it says is not said again
function M.ending(event, notice)
  local parts = {}
  if event.stopReason ~= 'endTurn' then
    table.insert(parts, words[event.stopReason] or ('ended: ' .. tostring(event.stopReason)))
  end
  if event.message and not (notice and notice:find(event.message, 1, true)) then
    table.insert(parts, event.message)
  end
  local usage = event.usage
  if usage and (usage.input or 0) + (usage.output or 0) > 0 then
    table.insert(parts, ('%s in, %s out'):format(thousands(usage.input or 0), thousands(usage.output or 0)))
  end
  if event.cost then
    table.insert(parts, ('$%.4f'):format(event.cost))
  end
  if event.unsettled and #event.unsettled > 0 then
    table.insert(parts, 'unknown whether it took effect: ' .. table.concat(event.unsettled, ', '))
  end
  return '─ ' .. (#parts > 0 and table.concat(parts, ' · ') or 'done')
end

return M
