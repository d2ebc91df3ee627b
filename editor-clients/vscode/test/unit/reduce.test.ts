import assert from 'node:assert/strict';
import test from 'node:test';
import { reduce, withoutStreams } from '../../src/model/reduce';
import { emptyView, type SessionView } from '../../src/model/view';
import type { Item, SessionEvent } from '../../src/protocol';
import { ask, event, item } from '../support/events';

const after = (...events: SessionEvent[]): SessionView => reduce(emptyView('s'), events);
const texts = (view: SessionView): unknown[] =>
  view.entries.map((entry) => ('text' in entry ? [entry.kind, entry.text] : [entry.kind]));
const delta = (offset: number, text: string, block = 0): SessionEvent =>
  event({ type: 'textDelta', turn: 1, step: 1, block, offset, text });
const reasoning = (offset: number, text: string, block = 0): SessionEvent =>
  event({ type: 'reasoningDelta', turn: 1, step: 1, block, offset, text });
const added = (seq: number, body: Item): SessionEvent => event({ seq, type: 'itemAdded', item: body });
const answer = (no: number, text: string): Item => item(no, { kind: 'assistant', text, cut: false });

test('a durable event counts once, by its seq', () => {
  const first = added(1, item(1, { kind: 'user', text: 'hello', steering: false }));
  const view = after(first, first);
  assert.deepEqual(texts(view), [['user', 'hello']]);
  assert.equal(reduce(view, [first]).entries.length, 1);
  assert.equal(view.seq, 1);
});

test('events of other sessions change nothing', () => {
  const other = { ...delta(0, 'x'), session: 'other' };
  assert.deepEqual(after(other), emptyView('s'));
});

test('deltas grow a block, and one that repeats what is there adds nothing', () => {
  assert.deepEqual(texts(after(delta(0, 'Hel'), delta(3, 'lo'), delta(1, 'ello'), delta(2, 'l'))), [['assistant', 'Hello']]);
});

test('offsets are bytes, not letters', () => {
  assert.deepEqual(texts(after(delta(0, 'zwölf '), delta(7, '你好'), delta(13, '!'))), [['assistant', 'zwölf 你好!']]);
});

test('a delta that overlaps brings only what is new', () => {
  assert.deepEqual(texts(after(delta(0, 'Hello'), delta(3, 'lo world'))), [['assistant', 'Hello world']]);
});

test('a delta beyond what is there is shown all the same', () => {
  assert.deepEqual(texts(after(delta(0, 'Hel'), delta(10, 'world'))), [['assistant', 'Helworld']]);
});

test('a stream that begins anew with another text takes the place of the first', () => {
  assert.deepEqual(texts(after(delta(0, 'The answer is'), delta(0, 'It'), delta(2, ' is'))), [['assistant', 'It is']]);
  assert.deepEqual(texts(after(reasoning(0, 'Let me think'), reasoning(0, 'Let'))), [['reasoning', 'Let']]);
  assert.deepEqual(texts(after(reasoning(0, 'Let me think'), delta(0, 'Let'))), [['assistant', 'Let']]);
});

test('a block that begins anew takes those behind it along, and no other', () => {
  const first = [reasoning(0, 'One', 0), reasoning(0, 'Two', 1), reasoning(0, 'Three', 2)];
  assert.deepEqual(texts(after(...first, reasoning(0, 'Zwei', 1))), [['reasoning', 'One'], ['reasoning', 'Zwei']]);
  assert.deepEqual(texts(after(...first, reasoning(0, 'Eins', 0))), [['reasoning', 'Eins']]);
});

test('an item takes the place of its block, under the same key, and late deltas of the block are ignored', () => {
  const streaming = after(delta(0, 'Hel'));
  const settled = reduce(streaming, [added(1, answer(2, 'Hello.')), delta(0, 'Hel')]);
  assert.deepEqual(texts(settled), [['assistant', 'Hello.']]);
  assert.equal(settled.entries[0]?.key, streaming.entries[0]?.key);
});

test('items of one step stand in the order of their blocks', () => {
  const view = after(
    reasoning(0, 'Hm', 0),
    delta(0, 'First', 1),
    added(1, item(2, { kind: 'reasoning', text: 'Hm.' })),
    added(2, item(3, { kind: 'toolCall', call: 'c1', tool: 'grep', arguments: '{}' })),
    added(3, answer(4, 'First.')),
  );
  assert.deepEqual(view.entries.map(({ kind }) => kind), ['reasoning', 'tool', 'assistant']);
  assert.deepEqual(texts(view)[2], ['assistant', 'First.']);
});

test('what has no item when its step ends is gone', () => {
  const view = after(delta(0, 'half'), event({ seq: 1, type: 'stepCompleted', turn: 1, step: 1 }));
  assert.deepEqual(view.entries, []);
});

test('reasoning that the provider hides is not shown', () => {
  assert.deepEqual(after(added(1, item(1, { kind: 'reasoning', text: '' }))).entries, []);
});

test('an attach begins streams anew and keeps the rest', () => {
  const view = after(added(1, item(1, { kind: 'user', text: 'hello', steering: false })), delta(0, 'half'));
  assert.deepEqual(texts(withoutStreams(view)), [['user', 'hello']]);
  assert.equal(withoutStreams(withoutStreams(view)).entries.length, 1);
});

test('a call goes from proposed over a question and running to its result', () => {
  const states: unknown[] = [];
  let view = emptyView('s');
  const step = (one: SessionEvent): void => {
    view = reduce(view, [one]);
    const [tool] = view.entries;
    states.push(tool?.kind === 'tool' && [tool.status, tool.title, tool.output]);
  };
  step(added(1, item(1, { kind: 'toolCall', call: 'c1', tool: 'run_terminal_cmd', arguments: '{"command":"make"}' })));
  step(event({ seq: 2, type: 'permissionAsked', ask: ask({ title: 'run make' }) }));
  assert.equal(view.asks.length, 1);
  step(event({ seq: 3, type: 'permissionResolved', ask: ask({ resolution: { type: 'answered', choice: 'allowOnce' } }) }));
  assert.equal(view.asks.length, 0);
  step(event({ seq: 4, type: 'toolStarted', call: 'c1', title: 'run make' }));
  step(event({ type: 'toolOutput', call: 'c1', offset: 0, text: 'cc a.c\n' }));
  step(event({ type: 'toolOutput', call: 'c1', offset: 3, text: 'a.c\ncc b.c\n' }));
  step(
    added(5, item(2, { kind: 'toolResult', call: 'c1', tool: 'run_terminal_cmd', status: 'ok', text: 'done', revision: 'r1', approximate: false })),
  );
  assert.deepEqual(states, [
    ['proposed', undefined, ''],
    ['asking', 'run make', ''],
    ['proposed', 'run make', ''],
    ['running', 'run make', ''],
    ['running', 'run make', 'cc a.c\n'],
    ['running', 'run make', 'cc a.c\ncc b.c\n'],
    ['ok', 'run make', ''],
  ]);
});

test('output after a gap is what came last, and its end is kept, not its beginning', () => {
  const call = added(1, item(1, { kind: 'toolCall', call: 'c1', tool: 'run_terminal_cmd', arguments: '{}' }));
  const output = (offset: number, text: string): SessionEvent => event({ type: 'toolOutput', call: 'c1', offset, text });
  const shown = (...events: SessionEvent[]): string => {
    const [tool] = after(call, ...events).entries;
    return tool?.kind === 'tool' ? tool.output : '';
  };
  assert.equal(shown(output(0, 'one'), output(100, 'two'), output(103, '!')), 'two!');
  const long = shown(output(0, 'a'.repeat(40_000)), output(40_000, 'end'));
  assert.ok(long.endsWith('aend') && long.length === 32 * 1024, `${long.length}`);
});

test('a question that was answered before it was told is not asked', () => {
  const answered = ask({ resolution: { type: 'answered', choice: 'reject' } });
  assert.deepEqual(after(event({ seq: 1, type: 'permissionAsked', ask: answered })).asks, []);
});

test('turns: running, queued, ended, with usage and cost added up', () => {
  const usage = { input: 100, cacheRead: 40, cacheWrite: 0, output: 7 };
  const started = after(
    event({ seq: 1, type: 'turnStarted', turn: 1 }),
    event({ seq: 2, type: 'turnQueued', turn: 2 }),
    event({ seq: 3, type: 'stepStarted', turn: 1, step: 1, tokens: 500, window: 1000, load: 0.5 }),
  );
  assert.deepEqual([started.running, started.queued, started.load], [{ turn: 1, step: 1 }, [2], { tokens: 500, window: 1000, load: 0.5 }]);
  const ended = reduce(started, [
    event({ seq: 4, type: 'turnCompleted', turn: 1, stopReason: 'endTurn', usage, cost: 0.25, unsettled: [] }),
    event({ seq: 5, type: 'turnStarted', turn: 2 }),
    event({ seq: 6, type: 'turnCompleted', turn: 2, stopReason: 'cancelled', usage, unsettled: ['c3'], message: 'stopped' }),
  ]);
  assert.equal(ended.running, undefined);
  assert.deepEqual(ended.queued, []);
  assert.deepEqual([ended.usage.input, ended.usage.cacheRead, ended.cost], [200, 80, 0.25]);
  assert.deepEqual(
    ended.entries.map((entry) => entry.kind === 'end' && [entry.turn, entry.stopReason, entry.unsettled, entry.message]),
    [
      [1, 'endTurn', [], undefined],
      [2, 'cancelled', ['c3'], 'stopped'],
    ],
  );
});

test('a compaction goes on until its end, or until a step begins', () => {
  const began = after(event({ seq: 1, type: 'compactionStarted', cause: 'manual' }));
  assert.equal(began.shortening, true);
  const stopped = reduce(began, [event({ seq: 2, type: 'compactionFinished', message: 'interrupted' })]);
  assert.equal(stopped.shortening, undefined);
  assert.deepEqual(texts(stopped), [['notice', 'The conversation was not shortened: interrupted.']]);
  const done = reduce(began, [event({ seq: 2, type: 'compactionFinished', epoch: 2 })]);
  assert.deepEqual([done.shortening, texts(done)], [undefined, []]);
  const step = event({ seq: 2, type: 'stepStarted', turn: 1, step: 1, tokens: 5, window: 10, load: 0.5 });
  assert.equal(reduce(began, [step]).shortening, undefined);
});

test('what a newer daemon says is ignored, and its seq counts', () => {
  const moon = { session: 's', seq: 1, type: 'moonRisen' } as unknown as SessionEvent;
  const hologram = added(2, { no: 1, turn: 1, step: 1, at: 0, kind: 'hologram' } as unknown as Item);
  const view = after(moon, hologram, added(3, answer(2, 'Much.')));
  assert.deepEqual([view.seq, texts(view)], [3, [['assistant', 'Much.']]]);
});

test('title, mode and model follow the session, also when it is deleted', () => {
  const info = { title: 'T', mode: 'plan', model: 'a/b' } as never;
  const view = after(event({ seq: 1, type: 'sessionChanged', info }));
  assert.deepEqual([view.title, view.mode, view.model, view.deleted], ['T', 'plan', 'a/b', false]);
  assert.equal(reduce(view, [event({ seq: 2, type: 'sessionChanged' })]).deleted, true);
});

test('the view that was given is not changed', () => {
  const view = after(added(1, item(1, { kind: 'toolCall', call: 'c1', tool: 'grep', arguments: '{}' })), delta(0, 'a'));
  const before = structuredClone(view);
  reduce(view, [delta(1, 'b'), event({ seq: 2, type: 'toolStarted', call: 'c1', title: 't' })]);
  assert.deepEqual(view, before);
});
