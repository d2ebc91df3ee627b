// What happens to a chat whose connection comes and goes.

import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import type { Chat, Kept } from '../../src/client/chat';
import { Daemon, INFO, NEVER, refusal } from '../support/daemon';
import { ask, event, item } from '../support/events';
import { listen, type Heard } from '../support/listener';

function begin(t: TestContext, kept: Kept = { session: 's', pending: [] }): { daemon: Daemon; chat: Chat; heard: Heard } {
  const daemon = new Daemon();
  const { chat, heard } = listen({ roots: ['/p', '/q'], start: daemon.start, kept });
  t.after(() => chat.stop());
  return { daemon, chat, heard };
}

const connected = ({ links }: Heard, times = 1): boolean => links.filter(({ kind }) => kind === 'connected').length >= times;
const user = (seq: number, turn: number, text: string, steering = false): ReturnType<typeof event> =>
  event({ seq, type: 'itemAdded', item: { ...item(seq, { kind: 'user', text, steering }), turn } });

test('opens the project with all folders and follows the session that was shown before', async (t) => {
  const { daemon, chat, heard } = begin(t);
  chat.start();
  await heard.until('it is connected', () => connected(heard));
  assert.deepEqual(
    daemon.calls.map(([method]) => method),
    ['initialize', 'project/open', 'session/attach'],
  );
  assert.deepEqual(daemon.asked('project/open'), [{ roots: ['/p', '/q'] }]);
  assert.deepEqual(daemon.asked('session/attach'), [{ session: 's', after: 0 }]);
});

test('the session is made by the first prompt, once', async (t) => {
  const { daemon, chat, heard } = begin(t, { pending: [] });
  chat.start();
  chat.prompt('one', 'start', []);
  chat.prompt('two', 'start', [{ kind: 'file', path: '/p/a' }]);
  await heard.until('both are accepted', () => heard.pending.every(({ state }) => state === 'accepted'));
  assert.equal(daemon.asked('session/create').length, 1);
  assert.deepEqual(
    daemon.asked('turn/start').map(({ text, attachments }) => [text, attachments]),
    [
      ['one', undefined],
      ['two', [{ kind: 'file', path: '/p/a' }]],
    ],
  );
  assert.equal(heard.kept.session, 's');
});

test('after the daemon has died the session is attached after the last event, and streams begin anew', async (t) => {
  const { daemon, chat, heard } = begin(t);
  chat.start();
  await heard.until('it is connected', () => connected(heard));
  daemon.tell(user(1, 1, 'hello'));
  daemon.tell(event({ type: 'textDelta', turn: 1, step: 1, block: 0, offset: 0, text: 'Half' }));
  await heard.until('the stream is there', () => chat.view?.entries.length === 2);
  daemon.die();
  await heard.until('it is connected again', () => connected(heard, 2));
  assert.deepEqual(daemon.asked('session/attach').at(-1), { session: 's', after: 1 });
  assert.deepEqual(chat.view?.entries.map(({ kind }) => kind), ['user']);
  assert.deepEqual(
    heard.links.map((link) => ('reason' in link ? link.reason : link.kind)),
    ['connecting', 'connected', 'the daemon has ended', 'connecting', 'connected'],
  );
});

test('a prompt whose answer was lost is sent again with the same key, and shown once', async (t) => {
  const { daemon, chat, heard } = begin(t);
  chat.start();
  const answer = daemon.handlers['turn/start'];
  daemon.handlers['turn/start'] = () => NEVER;
  chat.prompt('hello', 'start', []);
  await heard.until('it is connected', () => connected(heard));
  await daemon.until('turn/start', 1);
  daemon.handlers['turn/start'] = answer as NonNullable<typeof answer>;
  daemon.die();
  await heard.until('it is accepted', () => heard.pending[0]?.state === 'accepted');
  const [first, second] = daemon.asked('turn/start');
  assert.equal(first?.['idempotencyKey'], second?.['idempotencyKey']);
  daemon.tell(user(1, 1, 'hello'));
  await heard.until('it is shown', () => heard.pending.length === 0);
});

test('a prompt waits while there is no daemon, outlives the editor, and can be taken back', async (t) => {
  const { daemon, chat, heard } = begin(t);
  daemon.handlers['initialize'] = () => NEVER;
  chat.start();
  chat.prompt('one', 'start', []);
  chat.prompt('two', 'start', []);
  const [one, two] = heard.kept.pending;
  assert.deepEqual([one?.state, two?.state], ['sending', 'sending']);
  chat.takeBack(two?.key ?? '');
  chat.takeBack('nothing');
  assert.deepEqual(heard.returned, ['two']);
  const { kept } = heard;
  await chat.stop();
  const next = begin(t, kept);
  next.chat.start();
  await next.heard.until('it is accepted', () => next.heard.pending[0]?.state === 'accepted');
  assert.deepEqual(next.daemon.asked('turn/start'), [{ session: 's', text: 'one', idempotencyKey: one?.key }]);
});

test('a prompt that is refused comes back, with the reason and what to do', async (t) => {
  const { daemon, chat, heard } = begin(t);
  daemon.handlers['turn/start'] = () => refusal('authRequired', 'the key is missing', 'export KEY');
  chat.start();
  chat.prompt('hello', 'start', []);
  await heard.until('it is back', () => heard.returned.length > 0);
  assert.deepEqual([heard.returned, heard.pending], [['hello'], []]);
  await heard.until('it is said', () => heard.said.length > 0);
  assert.deepEqual(heard.said, ['The prompt was not sent: the key is missing — export KEY']);
});

test('a steering text that only the dead daemon knew comes back; one that had joined does not', async (t) => {
  const { daemon, chat, heard } = begin(t);
  chat.start();
  await heard.until('it is connected', () => connected(heard));
  daemon.tell(event({ seq: 1, type: 'turnStarted', turn: 1 }));
  await heard.until('it runs', () => chat.view?.running !== undefined);
  chat.prompt('joined', 'steer', []);
  chat.prompt('lost', 'steer', []);
  await heard.until('both are accepted', () => heard.pending.length === 2 && heard.pending.every(({ state }) => state === 'accepted'));
  daemon.handlers['session/get'] = () => ({ ...INFO, lastSeq: 3 });
  daemon.die();
  await heard.until('it is connected again', () => connected(heard, 2));
  daemon.tell(user(2, 1, 'joined', true));
  daemon.tell(event({ seq: 3, type: 'turnCompleted', turn: 1, stopReason: 'crashed', usage: { input: 0, cacheRead: 0, cacheWrite: 0, output: 0 }, unsettled: [] }));
  await heard.until('the lost one is back', () => heard.returned.length > 0);
  assert.deepEqual([heard.returned, heard.pending], [['lost'], []]);
});

test('a subscription that the daemon ends is begun again after the last event', async (t) => {
  const { daemon, chat, heard } = begin(t);
  chat.start();
  await heard.until('it is connected', () => connected(heard));
  daemon.tell(user(1, 1, 'hello'));
  daemon.tell(event({ type: 'closed', reason: 'storeFailed', message: 'no events' }));
  await daemon.until('session/attach', 2);
  daemon.tell(user(2, 2, 'again'));
  await heard.until('events come', () => chat.view?.seq === 2);
  assert.deepEqual(daemon.asked('session/attach').at(-1), { session: 's', after: 1 });
});

/** Lets everything happen that needs nobody. */
const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

test('a daemon that somebody stopped is started again by the next prompt, not before', async (t) => {
  const { daemon, chat, heard } = begin(t);
  daemon.handlers['editor/state'] = () => ({});
  chat.start();
  await heard.until('it is connected', () => connected(heard));
  daemon.tell(user(1, 1, 'hello'));
  await heard.until('an event came', () => chat.view?.seq === 1);
  daemon.die({ code: 5, said: 'somebody stopped the daemon' });
  await heard.until('it is asleep', () => heard.links.at(-1)?.kind === 'asleep');
  await chat.editorState([]);
  await settled();
  assert.deepEqual([daemon.asked('initialize').length, heard.links.at(-1)?.kind], [1, 'asleep']);
  chat.prompt('again', 'start', []);
  await daemon.until('turn/start', 1);
  assert.deepEqual(daemon.asked('session/attach').at(-1), { session: 's', after: 1 });
  assert.equal(daemon.asked('initialize').length, 2);
});

test('the last event says that somebody stopped the daemon, and looking at the sessions starts it', async (t) => {
  const { daemon, chat, heard } = begin(t);
  daemon.handlers['session/list'] = () => ({ sessions: [INFO] });
  chat.start();
  await heard.until('it is connected', () => connected(heard));
  daemon.tell(event({ type: 'closed', reason: 'daemonStopped', message: 'somebody stopped the daemon' }));
  await settled();
  assert.equal(daemon.asked('session/attach').length, 1);
  daemon.die();
  await heard.until('it is asleep', () => heard.links.at(-1)?.kind === 'asleep');
  await settled();
  assert.equal(daemon.asked('initialize').length, 1);
  assert.deepEqual(await chat.sessions(), [INFO]);
  assert.equal(daemon.asked('initialize').length, 2);
});

test('a daemon that makes room for another is followed by the next connection', async (t) => {
  const { daemon, chat, heard } = begin(t);
  chat.start();
  await heard.until('it is connected', () => connected(heard));
  daemon.tell(event({ type: 'closed', reason: 'daemonEnds', message: 'the daemon ends' }));
  await settled();
  daemon.die();
  await heard.until('it is connected again', () => connected(heard, 2));
  assert.equal(daemon.asked('session/attach').length, 2);
});

test('a session that is gone leaves an empty conversation', async (t) => {
  const { daemon, chat, heard } = begin(t);
  daemon.handlers['session/attach'] = () => refusal('notFound', 'no such session');
  chat.start();
  await heard.until('it is connected', () => connected(heard));
  assert.equal(chat.view, undefined);
  assert.deepEqual(heard.kept, { pending: [] });
});

test('events of a session that is no longer shown are dropped', async (t) => {
  const { daemon, chat, heard } = begin(t);
  chat.start();
  await heard.until('it is connected', () => connected(heard));
  await chat.open({ ...INFO, id: 'other' });
  daemon.tell(user(1, 1, 'late'));
  daemon.tell({ ...user(1, 1, 'right'), session: 'other' });
  await heard.until('it is there', () => chat.view?.seq === 1);
  assert.deepEqual(chat.view?.entries.map((entry) => 'text' in entry && entry.text), ['right']);
  assert.deepEqual(daemon.asked('session/detach'), [{ subscription: 'sub-1' }]);
});

test('only what is offered is answered, and a question that is no longer open is said so', async (t) => {
  const { daemon, chat, heard } = begin(t);
  chat.start();
  await heard.until('it is connected', () => connected(heard));
  daemon.tell(event({ seq: 1, type: 'permissionAsked', ask: ask({}) }));
  await heard.until('it asks', () => chat.view?.asks.length === 1);
  await chat.respond('a1', 'allowAlways', undefined);
  await chat.respond('a9', 'allowOnce', undefined);
  assert.deepEqual(daemon.asked('permission/respond'), []);
  daemon.handlers['permission/respond'] = () => refusal('conflict', 'void');
  await chat.respond('a1', 'reject', 'not now');
  const [{ idempotencyKey, ...rest } = {}] = daemon.asked('permission/respond');
  assert.ok(idempotencyKey);
  assert.deepEqual(rest, { session: 's', ask: 'a1', choice: 'reject', advice: 'not now' });
  assert.deepEqual(heard.said, ['This question is no longer open.']);
});

test('the editor state is told again to every connection', async (t) => {
  const { daemon, chat, heard } = begin(t);
  daemon.handlers['editor/state'] = () => ({});
  const files = [{ path: '/p/a', open: true, focused: true, unsaved: false }];
  await chat.editorState(files);
  chat.start();
  await heard.until('it is connected', () => connected(heard));
  daemon.die();
  await heard.until('it is connected again', () => connected(heard, 2));
  assert.deepEqual(daemon.asked('editor/state'), [
    { project: 'p', files },
    { project: 'p', files },
  ]);
});

test('a program that is not there is not tried again before somebody says so', async (t) => {
  const daemon = new Daemon();
  let starts = 0;
  const { chat, heard } = listen({
    roots: ['/p'],
    start: () => {
      starts += 1;
      if (starts > 1) return daemon.start();
      const bridge = daemon.start();
      daemon.die({ unstarted: 'ENOENT', said: '' });
      return bridge;
    },
  });
  t.after(() => chat.stop());
  chat.start();
  await heard.until('it has failed', () => heard.links.at(-1)?.kind === 'failed');
  assert.deepEqual(heard.links.at(-1), { kind: 'failed', fix: 'path', reason: 'ENOENT' });
  assert.equal(starts, 1);
  chat.link.retry();
  await heard.until('it is connected', () => connected(heard));
});

test('a daemon of another major version is told with both versions, and not tried again', async (t) => {
  const { daemon, chat, heard } = begin(t);
  daemon.handlers['initialize'] = () => refusal('incompatibleVersion', 'the daemon speaks 2.0, the client 1.0');
  chat.start();
  await heard.until('it has failed', () => heard.links.at(-1)?.kind === 'failed');
  assert.deepEqual(heard.links.at(-1), { kind: 'failed', fix: 'version', reason: 'the daemon speaks 2.0, the client 1.0' });
});

test('what a bridge said before it ended is the reason that is shown', async (t) => {
  const { daemon, chat, heard } = begin(t);
  chat.start();
  await heard.until('it is connected', () => connected(heard));
  daemon.die({ code: 1, said: 'the daemon cannot be reached' });
  await heard.until('it waits', () => heard.links.some(({ kind }) => kind === 'waiting'));
  assert.deepEqual(
    heard.links.find(({ kind }) => kind === 'waiting'),
    { kind: 'waiting', reason: 'the daemon cannot be reached (exit code 1)' },
  );
});

test('every connection is told the keys before the project is opened; one that is not taken stops nothing', async (t) => {
  const daemon = new Daemon();
  daemon.handlers['auth/set'] = ({ provider }) => (provider === 'a' ? refusal('invalidParams', 'no provider a') : { provider, state: 'set' });
  const { chat, heard } = listen({
    roots: ['/p'],
    start: daemon.start,
    keys: async () => [
      { provider: 'a', key: 'k' },
      { provider: 'b', key: 'l' },
    ],
  });
  t.after(() => chat.stop());
  chat.start();
  await heard.until('it is connected', () => connected(heard));
  daemon.die();
  await heard.until('it is connected again', () => connected(heard, 2));
  const told = ['initialize', 'auth/set', 'auth/set', 'project/open'];
  assert.deepEqual(
    daemon.calls.map(([method]) => method),
    [...told, ...told],
  );
});

test('keys that cannot be read, and a daemon that takes none, stop nothing', async (t) => {
  const daemon = new Daemon();
  let times = 0;
  const keys = async (): Promise<{ provider: string; key: string }[]> => {
    times += 1;
    if (times === 1) throw new Error('the key ring is locked');
    return [{ provider: 'a', key: 'k' }];
  };
  const { chat, heard } = listen({ roots: ['/p'], start: daemon.start, keys });
  t.after(() => chat.stop());
  chat.start();
  await heard.until('it is connected', () => connected(heard));
  daemon.die();
  await heard.until('it is connected again', () => connected(heard, 2));
  assert.equal(daemon.asked('auth/set').length, 1);
});

test('model and mode are those of the answer, before the event comes', async (t) => {
  const { daemon, chat, heard } = begin(t);
  daemon.handlers['session/setModel'] = ({ model }) => ({ ...INFO, model });
  chat.start();
  await heard.until('it is connected', () => connected(heard));
  await chat.setMode('plan');
  assert.equal(chat.view?.mode, 'plan');
  await chat.setModel('c/d');
  assert.equal(chat.view?.model, 'c/d');
});

test('no session is made for a prompt that was taken back', async (t) => {
  const { daemon, chat, heard } = begin(t, { pending: [] });
  chat.prompt('hello', 'start', []);
  chat.takeBack(heard.pending[0]?.key ?? '');
  chat.start();
  await heard.until('it is connected', () => connected(heard));
  chat.prompt('other', 'start', []);
  await daemon.until('turn/start', 1);
  assert.deepEqual(daemon.asked('turn/start').map(({ text }) => text), ['other']);
});

test('all sessions are listed, page by page', async (t) => {
  const { daemon, chat, heard } = begin(t);
  daemon.handlers['session/list'] = ({ cursor }) => (cursor ? { sessions: [{ ...INFO, id: 'b' }] } : { sessions: [INFO], nextCursor: '1' });
  chat.start();
  await heard.until('it is connected', () => connected(heard));
  assert.deepEqual((await chat.sessions()).map(({ id }) => id), ['s', 'b']);
});

test('that a newer build waits is said once', async (t) => {
  const { daemon, chat, heard } = begin(t);
  chat.start();
  await heard.until('it is connected', () => connected(heard));
  daemon.tell(event({ type: 'restartPending', build: '9' }));
  daemon.tell(event({ type: 'restartPending', build: '9' }));
  daemon.tell(user(1, 1, 'after'));
  await heard.until('all has come', () => chat.view?.seq === 1);
  assert.deepEqual(heard.said, ['A newer Plimsoll (9) takes over as soon as nothing runs.']);
});
