// Events → view. Pure: the extension and the page both apply the same events and come to the same view.
//
// Rules of the protocol that live here: a durable event counts once, by its `seq`; a delta's offset says where it stands in
// its block, which begins anew at 0; an item replaces what was streamed of it; what is not known is ignored, but its `seq` counts.

import type { Ask, EventOf, Item, ResultData, SessionEvent, SessionInfo, Usage } from '../protocol';
import { byteLength, splice, tail } from './bytes';
import type { Entry, SessionView, TextEntry, ToolEntry } from './view';

/** How much of a running command's output is kept for the eye, in UTF-16 units; the result has the rest. */
const OUTPUT_SHOWN = 32 * 1024;

/** A view that its owner changes: its lists are the owner's own, their members are not. */
export type OwnView = Omit<SessionView, 'entries' | 'queued' | 'asks' | 'settled'> & {
  entries: Entry[];
  queued: number[];
  asks: Ask[];
  settled: string[];
};

/** The view after these events. The one that is given stays as it is. */
export function reduce(view: SessionView, events: readonly SessionEvent[]): SessionView {
  const draft = own(view);
  advance(draft, events);
  return draft;
}

/** A copy of a view that can be advanced. */
export function own(view: SessionView): OwnView {
  return {
    ...view,
    entries: [...view.entries],
    queued: [...view.queued],
    asks: [...view.asks],
    settled: [...view.settled],
  };
}

/** Adds events in place: a conversation may be long, and a copy for each event would cost its length. Those of other
 * sessions, and durable ones that it has already, change nothing. */
export function advance(draft: OwnView, events: readonly SessionEvent[]): void {
  for (const event of events) {
    if (event.session !== draft.session) continue;
    if (typeof event.seq === 'number') {
      if (event.seq <= draft.seq) continue;
      draft.seq = event.seq;
    }
    apply(draft, event);
  }
}

/** The view with what an answer said about the session. */
export function withInfo(view: SessionView, info: SessionInfo): SessionView {
  return { ...view, title: info.title, mode: info.mode, model: info.model };
}

/** The view without the texts that are being streamed: after an attach each comes again, from its beginning. */
export function withoutStreams(view: SessionView): SessionView {
  const entries = view.entries.filter((entry) => !isLive(entry));
  return entries.length === view.entries.length ? view : { ...view, entries };
}

function apply(draft: OwnView, event: SessionEvent): void {
  switch (event.type) {
    case 'turnStarted':
      draft.running = { turn: event.turn, step: 0 };
      draft.queued = draft.queued.filter((turn) => turn !== event.turn);
      return;
    case 'turnQueued':
      if (!draft.queued.includes(event.turn)) draft.queued.push(event.turn);
      return;
    case 'itemAdded':
      return addItem(draft, event.item);
    case 'textDelta':
    case 'reasoningDelta':
      return addDelta(draft, event);
    case 'toolOutput':
      return addOutput(draft, event.call, event.offset, event.text);
    case 'toolStarted':
      return changeTool(draft, event.call, (tool) => ({ ...tool, title: event.title, status: 'running' }));
    case 'taskEnded':
      return;
    case 'permissionAsked':
      return asked(draft, event.ask);
    case 'permissionResolved':
      draft.asks = draft.asks.filter((ask) => ask.id !== event.ask.id);
      return changeTool(draft, event.ask.call, (tool) =>
        tool.status === 'asking' ? { ...tool, status: 'proposed' } : tool,
      );
    case 'planChanged':
      draft.todos = event.todos;
      return;
    case 'compactionStarted':
      draft.shortening = true;
      return;
    case 'compactionFinished':
      delete draft.shortening;
      if (event.epoch === undefined && event.message) {
        // What was shortened, a notice says; that nothing was, and why, only this.
        const text = `The conversation was not shortened: ${event.message}.`;
        const turn = draft.running?.turn ?? 0;
        draft.entries.push({ kind: 'notice', key: `event:${draft.seq}`, turn, cause: 'compaction', text });
      }
      return;
    case 'stepStarted':
      // One that a death of the daemon cut has no end of its own.
      delete draft.shortening;
      draft.running = { turn: event.turn, step: event.step };
      draft.load = { tokens: event.tokens, window: event.window, load: event.load };
      draft.settled = [];
      return;
    case 'stepCompleted':
      // Whatever of the step has no item by now will get none.
      removeLive(draft, event.turn, event.step);
      return;
    case 'turnCompleted':
      delete draft.shortening;
      return completed(draft, event);
    case 'sessionChanged':
      if (event.info) {
        draft.title = event.info.title;
        draft.mode = event.info.mode;
        draft.model = event.info.model;
      } else {
        draft.deleted = true;
      }
      return;
    case 'restartPending':
    case 'closed':
      // About the connection, not about the session.
      return;
    default:
      // Of a newer daemon. Its `seq` has counted.
      return;
  }
}

function addItem(draft: OwnView, item: Item): void {
  const { turn, step } = item;
  const key = `item:${item.no}`;
  switch (item.kind) {
    case 'user':
      draft.entries.push({ kind: 'user', key, turn, text: item.text, steering: item.steering, images: item.images ?? [] });
      return;
    case 'assistant':
    case 'reasoning': {
      const at = findLive(draft, turn, step, (entry) => entry.kind === item.kind);
      const live = draft.entries[at];
      const cut = item.kind === 'assistant' && item.cut;
      // The entry keeps its key, so that what is on the screen stays where it is.
      const entry: TextEntry = { kind: item.kind, key: live?.key ?? key, turn, step, text: item.text, cut };
      if (live && isLive(live)) {
        draft.settled.push(blockName(turn, step, live.live));
        draft.entries[at] = entry;
      } else if (item.text !== '') {
        insert(draft, entry, turn, step);
      }
      return;
    }
    case 'toolCall': {
      const { call, tool } = item;
      const entry: ToolEntry = {
        kind: 'tool',
        key,
        turn,
        call,
        tool,
        arguments: item.arguments,
        status: 'proposed',
        output: '',
        outputEnd: 0,
      };
      return insert(draft, entry, turn, step);
    }
    case 'toolResult':
      if (draft.entries.findLastIndex((entry) => entry.kind === 'tool' && entry.call === item.call) < 0) {
        draft.entries.push({
          kind: 'tool',
          key,
          turn,
          call: item.call,
          tool: item.tool,
          arguments: '',
          status: item.status,
          output: '',
          outputEnd: 0,
        });
      }
      return changeTool(draft, item.call, (tool) => ({
        ...tool,
        tool: item.tool,
        status: item.status,
        // The result holds what was printed; what stands in both is shown once.
        output: '',
        ...(typeof item.text === 'string' ? { text: item.text } : {}),
        ...(isData(item.data) ? { data: item.data } : {}),
      }));
    case 'notice':
      draft.entries.push({ kind: 'notice', key, turn, cause: item.cause, text: item.text });
      return;
    case 'meta':
    case 'observation':
      // Not for the conversation's view.
      return;
    default:
      return;
  }
}

function addDelta(draft: OwnView, event: EventOf<'textDelta' | 'reasoningDelta'>): void {
  const { turn, step, block, offset, text } = event;
  const kind = event.type === 'textDelta' ? 'assistant' : 'reasoning';
  const name = blockName(turn, step, block);
  if (draft.settled.includes(name)) return;
  // A block that begins: what came before of it, and of those behind it, was of a try that failed, or is told again.
  if (offset === 0) removeLater(draft, turn, step, block);
  const at = findLive(draft, turn, step, (entry) => entry.live === block);
  const known = draft.entries[at];
  if (known && isLive(known) && known.kind === kind) {
    // Mostly it goes on where the text ends, and the text need not be measured.
    const goesOn = offset === 0 ? text : splice(known.text, offset, text);
    const whole = offset === known.bytes ? known.text + text : goesOn;
    const bytes = offset === known.bytes ? offset + byteLength(text) : byteLength(whole);
    draft.entries[at] = { ...known, text: whole, bytes };
    return;
  }
  const entry: TextEntry = { kind, key: `block:${name}`, turn, step, text, cut: false, live: block, bytes: byteLength(text) };
  if (known) draft.entries[at] = entry;
  else draft.entries.push(entry);
}

function addOutput(draft: OwnView, call: string, offset: number, text: string): void {
  changeTool(draft, call, (tool) => {
    const end = offset + byteLength(text);
    if (end <= tool.outputEnd) return tool;
    const begin = tool.outputEnd - byteLength(tool.output);
    // Where something was missed, only what comes is shown.
    const output = offset > tool.outputEnd ? text : splice(tool.output, Math.max(0, offset - begin), text);
    return { ...tool, output: tail(output, OUTPUT_SHOWN), outputEnd: end };
  });
}

function asked(draft: OwnView, ask: Ask): void {
  // It carries its resolution when it was answered before it could be told.
  if (ask.resolution || draft.asks.some((open) => open.id === ask.id)) return;
  draft.asks.push(ask);
  changeTool(draft, ask.call, (tool) =>
    tool.status === 'proposed' ? { ...tool, title: ask.title, status: 'asking' } : tool,
  );
}

function completed(draft: OwnView, event: EventOf<'turnCompleted'>): void {
  const { turn } = event;
  removeLive(draft, turn);
  draft.entries.push({
    kind: 'end',
    key: `end:${turn}`,
    turn,
    ...(typeof event.at === 'number' ? { at: event.at } : {}),
    stopReason: event.stopReason,
    usage: event.usage,
    ...(typeof event.cost === 'number' ? { cost: event.cost } : {}),
    unsettled: event.unsettled,
    ...(event.message ? { message: event.message } : {}),
  });
  draft.usage = plus(draft.usage, event.usage);
  if (typeof event.cost === 'number') draft.cost = (draft.cost ?? 0) + event.cost;
  draft.queued = draft.queued.filter((queued) => queued !== turn);
  draft.asks = draft.asks.filter((ask) => ask.turn !== turn);
  draft.settled = [];
  if (draft.running?.turn === turn) delete draft.running;
}

/** Puts an entry of a step before what is still being streamed of the step: items come in the order of their blocks. */
function insert(draft: OwnView, entry: Entry, turn: number, step: number): void {
  const at = findLive(draft, turn, step, () => true);
  if (at < 0) draft.entries.push(entry);
  else draft.entries.splice(at, 0, entry);
}

/** Where the entries of this turn begin: they are the last ones. */
function begin(entries: readonly Entry[], turn: number): number {
  let at = entries.length;
  while (at > 0 && (entries[at - 1]?.turn ?? 0) >= turn) at -= 1;
  return at;
}

/** The first entry of a step that is being streamed and is meant; -1: none. */
function findLive(draft: OwnView, turn: number, step: number, meant: (entry: LiveEntry) => boolean): number {
  for (let at = begin(draft.entries, turn); at < draft.entries.length; at += 1) {
    const entry = draft.entries[at];
    if (entry && isLive(entry) && entry.turn === turn && entry.step === step && meant(entry)) return at;
  }
  return -1;
}

/** Removes what is being streamed in a turn, or in one step of it. */
function removeLive(draft: OwnView, turn: number, step?: number): void {
  const first = begin(draft.entries, turn);
  for (let at = draft.entries.length - 1; at >= first; at -= 1) {
    const entry = draft.entries[at];
    if (entry && isLive(entry) && entry.turn === turn && (step === undefined || entry.step === step)) draft.entries.splice(at, 1);
  }
}

/** Removes what is being streamed of a step behind one of its blocks. */
function removeLater(draft: OwnView, turn: number, step: number, block: number): void {
  const later = (entry: LiveEntry): boolean => entry.live > block;
  for (let at = findLive(draft, turn, step, later); at >= 0; at = findLive(draft, turn, step, later)) draft.entries.splice(at, 1);
}

function changeTool(draft: OwnView, call: string, change: (tool: ToolEntry) => ToolEntry): void {
  const at = draft.entries.findLastIndex((entry) => entry.kind === 'tool' && entry.call === call);
  const tool = draft.entries[at];
  if (tool?.kind === 'tool') draft.entries[at] = change(tool);
}

type LiveEntry = TextEntry & { live: number };

function isLive(entry: Entry): entry is LiveEntry {
  return (entry.kind === 'assistant' || entry.kind === 'reasoning') && entry.live !== undefined;
}

function isData(data: unknown): data is ResultData {
  return typeof data === 'object' && data !== null && 'kind' in data && typeof data.kind === 'string';
}

function blockName(turn: number, step: number, block: number): string {
  return `${turn}:${step}:${block}`;
}

function plus(a: Usage, b: Usage): Usage {
  return {
    input: a.input + b.input,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    output: a.output + b.output,
  };
}
