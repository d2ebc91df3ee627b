// The native API by means of other people's: vscode-jsonrpc (what VS Code extensions use), Neovim's own RPC client, and
// a shell.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { StreamMessageReader, StreamMessageWriter, createMessageConnection } from 'vscode-jsonrpc/node';
import { Machine, inTime } from './support/machine.mjs';
import { calls, say } from './support/model.mjs';

const here = (name) => fileURLToPath(new URL(name, import.meta.url));

function script(machine) {
  machine.file('a.txt', 'alpha\n');
  machine.model.push(
    calls(['read_file', { target_file: 'a.txt' }], ['run_terminal_cmd', { command: 'cat a.txt > b.txt' }]),
    say('It says ', 'alpha.'),
  );
}

function check(machine, { turn, text, tools }) {
  assert.deepEqual([turn.stopReason, text], ['endTurn', 'It says alpha.']);
  assert.deepEqual(tools, [
    ['read_file', 'ok'],
    ['run_terminal_cmd', 'ok'],
  ]);
  assert.equal(fs.readFileSync(`${machine.work}/b.txt`, 'utf8'), 'alpha\n');
}

/** What a client knows after these events. */
function outcome(events) {
  const items = events.filter(({ type }) => type === 'itemAdded').map(({ item }) => item);
  return {
    turn: events.find(({ type }) => type === 'turnCompleted'),
    text: items.filter(({ kind }) => kind === 'assistant').map(({ text }) => text).join(''),
    tools: items
      .filter(({ kind }) => kind === 'toolResult')
      .map(({ tool, status }) => [tool, status])
      .sort(),
  };
}

test('vscode-jsonrpc over `plimsoll stdio`', async (t) => {
  const machine = await Machine.start(t);
  script(machine);
  const child = machine.spawn('stdio');
  const rpc = createMessageConnection(new StreamMessageReader(child.stdout), new StreamMessageWriter(child.stdin));
  const faults = [];
  rpc.onError((error) => faults.push(error));
  rpc.onUnhandledNotification((message) => faults.push(message));
  const events = [];
  const ended = new Promise((resolve) => {
    rpc.onNotification('session/event', ({ result }) => {
      events.push(result);
      if (result.type === 'permissionAsked' && !result.ask.resolution) {
        rpc.sendRequest('permission/respond', { session: result.session, ask: result.ask.id, choice: 'allowOnce' });
      }
      if (result.type === 'turnCompleted') resolve();
    });
  });
  rpc.listen();
  const request = (method, params) => inTime(`the answer to ${method}`, rpc.sendRequest(method, params));

  const hello = await request('initialize', { clientInfo: { name: 'check' }, protocolVersion: '1.0' });
  assert.deepEqual([hello.serverInfo.name, hello.protocolVersion.split('.')[0]], ['plimsoll', '1']);
  const { key } = await request('project/open', { roots: [machine.work] });
  const { id } = await request('session/create', { project: key });
  await request('session/attach', { session: id });
  assert.deepEqual(await request('turn/start', { session: id, text: 'What does a.txt say?' }), { turn: 1, queued: false });
  await inTime("the turn's end", ended);
  check(machine, outcome(events));
  const seqs = events.map(({ seq }) => seq).filter((seq) => seq !== undefined);
  assert.deepEqual(seqs, seqs.map((_, index) => index + 1));
  const titled = events.find(({ type }) => type === 'sessionChanged');
  assert.equal(titled?.info.title, 'What does a.txt say?');

  await assert.rejects(rpc.sendRequest('turn/nonsense', {}), { code: -32601 });
  await assert.rejects(rpc.sendRequest('session/get', { session: 'nobody' }), { code: -32020, data: { kind: 'notFound', hint: 'session/list shows the sessions' } });
  assert.deepEqual(faults, []);
  rpc.end();
  child.stdin.end();
  assert.deepEqual(await inTime("the bridge's end", child.ended), { code: 0, signal: null });
});

test('Neovim over `plimsoll stdio`', { skip: !process.env.NVIM_BIN && 'NVIM_BIN names no Neovim' }, async (t) => {
  const machine = await Machine.start(t);
  script(machine);
  const env = { ...machine.env, PLIMSOLL_BIN: machine.binary, XDG_RUNTIME_DIR: machine.env.PLIMSOLL_RUNTIME_DIR };
  const done = await machine.run(process.env.NVIM_BIN, ['--headless', '--clean', '-l', here('./neovim.lua')], { env });
  assert.equal(done.code, 0, done.stderr);
  check(machine, outcome(done.stdout.trim().split('\n').map((line) => JSON.parse(line))));
});

test('LSP4J over `plimsoll stdio`', { skip: !process.env.LSP4J_CLASSES && 'LSP4J was not built' }, async (t) => {
  const machine = await Machine.start(t);
  script(machine);
  const env = { ...machine.env, PLIMSOLL_BIN: machine.binary };
  const words = ['-cp', process.env.LSP4J_CLASSES, 'plimsoll.check.Turn', machine.work, 'What does a.txt say?'];
  const done = await machine.run('java', words, { env });
  assert.equal(done.code, 0, done.stderr);
  check(machine, outcome(done.stdout.trim().split('\n').map((line) => JSON.parse(line))));
});

test('a shell with lines of JSON', async (t) => {
  const machine = await Machine.start(t, { mode: 'full' });
  script(machine);
  const env = { ...machine.env, PLIMSOLL_BIN: machine.binary };
  const done = await machine.run('bash', [here('./ndjson.sh'), machine.work, 'What does a.txt say?'], { env });
  assert.equal(done.code, 0, done.stderr);
  const messages = done.stdout.trim().split('\n').map((line) => JSON.parse(line));
  assert.deepEqual(messages.filter(({ id }) => id !== undefined).map(({ id, error }) => [id, error]), [1, 2, 3, 4, 5].map((id) => [id, undefined]));
  check(machine, outcome(messages.filter(({ method }) => method === 'session/event').map(({ params }) => params.result)));
});
