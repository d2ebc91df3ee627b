// The official SDK's client over `plimsoll acp`: what an editor does in a day.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import test from 'node:test';
import { methods } from '@agentclientprotocol/sdk';
import { Acp, callsIn, choose, dismiss, faultsOf, shown, textIn } from './support/acp.mjs';
import { Machine, inTime } from './support/machine.mjs';
import { Gate, calls, say } from './support/model.mjs';

const run = (command) => calls(['run_terminal_cmd', { command }]);
const statuses = (acp, session) => callsIn(acp.of(session)).map(({ status }) => status);

test('the schema check finds what is wrong', () => {
  const asked = new Map([[1, 'initialize']]);
  assert.deepEqual(faultsOf({ jsonrpc: '2.0', id: 1, result: { protocolVersion: 1 } }, asked), []);
  const update = { sessionUpdate: 'tool_call', toolCallId: 'c1', title: 't', status: 'cancelled' };
  for (const wrong of [
    { jsonrpc: '2.0', id: 1, result: { protocolVersion: '1' } },
    { jsonrpc: '2.0', id: 2, result: {} },
    { jsonrpc: '2.0', method: 'session/update', params: { sessionId: 's', update } },
    { jsonrpc: '2.0', method: 'session/event', params: {} },
    { id: 1, result: { protocolVersion: 1 } },
  ]) {
    assert.notDeepEqual(faultsOf(wrong, asked), [], JSON.stringify(wrong));
  }
});

test('version 1 is spoken, whatever is asked for', async (t) => {
  const machine = await Machine.start(t);
  for (const version of [1, 7]) {
    const acp = await Acp.start(t, machine, { version });
    const { protocolVersion, agentInfo, agentCapabilities, authMethods } = acp.initialized;
    assert.deepEqual([protocolVersion, agentInfo.name, authMethods], [1, 'plimsoll', []]);
    assert.equal(agentCapabilities.loadSession, true);
    const { list, resume, close, delete: remove, additionalDirectories } = agentCapabilities.sessionCapabilities;
    assert.deepEqual([list, resume, close, remove, additionalDirectories], [{}, {}, {}, {}, {}]);
    assert.deepEqual(await acp.close(), { code: 0, signal: null });
  }
});

test('text streams, a linked file is named to the model, and session/new is answered before its updates', async (t) => {
  const machine = await Machine.start(t);
  const file = machine.file('src/main.rs', 'fn main() {}\n');
  const acp = await Acp.start(t, machine);
  const session = await acp.open();
  machine.model.push(say('It ', 'does ', 'nothing.'));
  const answer = await acp.prompt(session, [
    { type: 'text', text: 'What does this do? ' },
    { type: 'resource_link', name: 'main.rs', uri: `file://${file}` },
  ]);
  assert.equal(answer.stopReason, 'end_turn');
  assert.equal(textIn(acp.of(session)), 'It does nothing.');
  assert.match(machine.model.texts('user').at(-1), new RegExp(`What does this do\\? \\[main\\.rs\\]\\(${file}\\)`));
  const created = acp.received.findIndex((message) => message.result?.sessionId === session);
  const updated = acp.received.findIndex((message) => message.params?.sessionId === session);
  assert.ok(created >= 0 && created < updated, `created ${created}, updated ${updated}`);
});

test('the title and the load of the context are told', async (t) => {
  const machine = await Machine.start(t);
  const acp = await Acp.start(t, machine);
  const session = await acp.open();
  machine.model.push(say('ok'));
  await acp.prompt(session, 'Fix the build');
  const about = acp.of(session).filter(({ sessionUpdate }) => sessionUpdate === 'session_info_update');
  assert.deepEqual(about.map(({ title }) => title).filter(Boolean), ['Fix the build']);
  assert.ok(about.every(({ updatedAt }) => !Number.isNaN(Date.parse(updatedAt))), JSON.stringify(about));
  const [usage] = acp.of(session).filter(({ sessionUpdate }) => sessionUpdate === 'usage_update');
  assert.equal(usage.size, 200_000);
  assert.ok(usage.used > 0 && usage.used < 100_000, `${usage.used}`);
});

test('two editors on one session: a mode, an answer and a turn of one are seen by the other', async (t) => {
  const machine = await Machine.start(t);
  const [one, two] = [await Acp.start(t, machine), await Acp.start(t, machine)];
  const session = await one.open();
  await two.request(methods.agent.session.load, { sessionId: session, cwd: machine.work, mcpServers: [] });
  await one.request(methods.agent.session.setMode, { sessionId: session, modeId: 'full' });
  const mode = () => two.of(session).find(({ sessionUpdate }) => sessionUpdate === 'current_mode_update');
  assert.equal((await two.until('the mode', mode)).currentModeId, 'full');
  await one.request(methods.agent.session.setMode, { sessionId: session, modeId: 'ask' });

  const withdrawn = new Promise((resolve) => {
    two.permit = ({ signal }) =>
      new Promise((answer) => {
        signal.addEventListener('abort', () => {
          answer(dismiss());
          resolve();
        });
      });
  });
  one.permit = async (context) => {
    await two.until('the question', () => two.asked.length > 0);
    return choose('allow_once')(context);
  };
  machine.model.push(run('touch shared'), say('done'));
  assert.equal((await one.prompt(session, 'run it')).stopReason, 'end_turn');
  await inTime('the withdrawal of the question', withdrawn);
  await two.until('the answer', () => textIn(two.of(session)) === 'done');
  assert.deepEqual(statuses(two, session), ['completed']);
  const prompts = shown(two.of(session)).filter(({ entry }) => entry === 'user_message_chunk');
  assert.deepEqual(prompts.map(({ text }) => text), ['run it']);
});

test('parallel reads are announced with places, run, and end', async (t) => {
  const machine = await Machine.start(t);
  const files = ['a.txt', 'b.txt', 'missing.txt'];
  machine.file('a.txt', 'alpha\n');
  machine.file('b.txt', 'beta\n');
  const acp = await Acp.start(t, machine);
  const session = await acp.open();
  machine.model.push(calls(...files.map((target_file) => ['read_file', { target_file }])), say('done'));
  assert.equal((await acp.prompt(session, 'read them')).stopReason, 'end_turn');
  const seen = callsIn(acp.of(session)).map(({ kind, name, status, locations, rawInput }) => ({ kind, name, status, locations, rawInput }));
  assert.deepEqual(
    seen,
    files.map((name) => ({
      kind: 'read',
      name: 'read_file',
      status: name === 'missing.txt' ? 'failed' : 'completed',
      locations: [{ path: `${machine.work}/${name}` }],
      rawInput: { target_file: name },
    })),
  );
  const results = machine.model.texts('tool');
  assert.equal(results.length, 3);
  assert.match(results[0], /alpha/);
  assert.match(results[1], /beta/);
  assert.equal(textIn(acp.of(session)), 'done');
});

test('a command is asked for, and runs as it was answered', async (t) => {
  const machine = await Machine.start(t);
  const acp = await Acp.start(t, machine);
  const session = await acp.open();
  const prompt = async (command) => {
    machine.model.push(run(command), say('ok'));
    assert.equal((await acp.prompt(session, command)).stopReason, 'end_turn');
    return callsIn(acp.of(session)).at(-1);
  };

  acp.permit = choose('allow_once');
  const once = await prompt('echo one > one.txt && cat one.txt');
  assert.equal(once.status, 'completed');
  assert.match(once.content[0].content.text, /one/);
  const { sessionId, toolCall, options } = acp.asked[0];
  assert.deepEqual([sessionId, toolCall.toolCallId, toolCall.kind], [session, once.toolCallId, 'execute']);
  assert.deepEqual(options.map(({ kind }) => kind), ['allow_once', 'allow_always', 'allow_always', 'reject_once']);
  // Clients merge the question's call into the announced one, which a replay must give again.
  assert.equal(toolCall.title, once.title);
  // The call was announced before it was asked for.
  const announced = acp.received.findIndex(({ params }) => params?.update?.toolCallId === once.toolCallId);
  const question = acp.received.findIndex(({ method }) => method === 'session/request_permission');
  assert.ok(announced >= 0 && announced < question, `announced ${announced}, asked ${question}`);

  acp.permit = choose('reject_once');
  assert.equal((await prompt('echo two > two.txt')).status, 'failed');
  assert.equal(acp.asked.length, 2);

  acp.permit = choose('allow_always');
  assert.equal((await prompt('touch three')).status, 'completed');
  assert.equal((await prompt('touch three')).status, 'completed');
  assert.equal(acp.asked.length, 3, 'asked again although it was always allowed');

  const { stdout } = await machine.run('ls', []);
  assert.equal(stdout, 'one.txt\nthree\n');
});

test('a question that the user closes ends the turn', async (t) => {
  const machine = await Machine.start(t);
  const acp = await Acp.start(t, machine);
  const session = await acp.open();
  acp.permit = dismiss;
  machine.model.push(run('echo never > never.txt'));
  assert.equal((await acp.prompt(session, 'go')).stopReason, 'cancelled');
  assert.deepEqual(statuses(acp, session), ['failed']);
  machine.model.push(say('still here'));
  assert.equal((await acp.prompt(session, 'and now?')).stopReason, 'end_turn');
  assert.equal((await machine.run('ls', [])).stdout, '');
});

test('session/cancel ends a stream, a question, and a command, and every call ends', async (t) => {
  const machine = await Machine.start(t);
  const acp = await Acp.start(t, machine);
  const session = await acp.open();

  const gate = new Gate();
  machine.model.push(say('half an ', gate, 'answer'));
  let prompt = acp.prompt(session, 'talk');
  await gate.reached;
  await acp.until('the first half', () => textIn(acp.of(session)) === 'half an ');
  await acp.cancel(session);
  assert.equal((await prompt).stopReason, 'cancelled');
  assert.equal(textIn(acp.of(session)), 'half an ');

  // The client answers its open questions with `cancelled`, as the protocol wants it.
  let close;
  acp.permit = () => new Promise((resolve) => (close = () => resolve(dismiss())));
  machine.model.push(run('touch never'));
  prompt = acp.prompt(session, 'run');
  await acp.until('the question', () => close);
  await acp.cancel(session);
  close();
  assert.equal((await prompt).stopReason, 'cancelled');
  assert.deepEqual(statuses(acp, session), ['failed']);

  acp.permit = choose('allow_once');
  machine.model.push(calls(['run_terminal_cmd', { command: 'echo started; sleep 600' }], ['run_terminal_cmd', { command: 'echo second' }]));
  prompt = acp.prompt(session, 'run long');
  await acp.until('output of the command', () =>
    callsIn(acp.of(session)).some(({ status, content }) => status === 'in_progress' && /started/.test(content?.[0].content.text)),
  );
  await acp.cancel(session);
  assert.equal((await prompt).stopReason, 'cancelled');
  const ends = statuses(acp, session);
  assert.equal(ends.length, 3);
  assert.ok(ends.every((status) => ['completed', 'failed'].includes(status)), ends.join());

  machine.model.push(say('fine'));
  assert.equal((await acp.prompt(session, 'are you well?')).stopReason, 'end_turn');
});

test('a second prompt waits for the first, and $/cancel_request ends one of them only', async (t) => {
  const machine = await Machine.start(t);
  const acp = await Acp.start(t, machine);
  const session = await acp.open();
  const gate = new Gate();
  machine.model.push(say('first ', gate), say('second'));
  const stop = new AbortController();
  const params = { sessionId: session, prompt: [{ type: 'text', text: 'one' }] };
  const first = acp.agent.request(methods.agent.session.prompt, params, { cancellationSignal: stop.signal });
  await acp.until('the first half', () => textIn(acp.of(session)) === 'first ');
  const second = acp.prompt(session, 'two');
  stop.abort();
  assert.equal((await inTime('the first end', first)).stopReason, 'cancelled');
  assert.equal((await second).stopReason, 'end_turn');
  assert.equal(textIn(acp.of(session)), 'first second');
});

test('embedded text is taken, what was not offered is refused, and errors of the model are told', async (t) => {
  const machine = await Machine.start(t);
  const acp = await Acp.start(t, machine);
  const session = await acp.open();
  machine.model.push(say('seen'));
  const resource = { uri: 'file:///elsewhere/x.txt', text: 'embedded words' };
  await acp.prompt(session, [{ type: 'text', text: 'look: ' }, { type: 'resource', resource }]);
  assert.match(machine.model.texts('user').at(-1), /1\|embedded words\n[^]*look: \[x\.txt\]\(\/elsewhere\/x\.txt\)/);
  const blob = { type: 'resource', resource: { uri: 'file:///elsewhere/x', blob: 'AA==' } };
  await assert.rejects(acp.prompt(session, [blob]), { code: -32602, message: /binary resource content is not supported/ });
  machine.model.push({ status: 401 });
  await assert.rejects(acp.prompt(session, 'again'), { code: -32603, message: /401|key/ });
  machine.model.push(say('better'));
  assert.equal((await acp.prompt(session, 'once more')).stopReason, 'end_turn');
});

test('a long answer in very many pieces arrives whole', async (t) => {
  const machine = await Machine.start(t);
  const acp = await Acp.start(t, machine);
  const session = await acp.open();
  const pieces = Array.from({ length: 5_000 }, (_, index) => `${index} \u00e9\u{1F600}\n`);
  machine.model.push(say(...pieces));
  assert.equal((await acp.prompt(session, 'count')).stopReason, 'end_turn');
  assert.equal(textIn(acp.of(session)), pieces.join(''));
});

test('session/load in a fresh bridge replays what was live', async (t) => {
  const machine = await Machine.start(t);
  machine.file('a.txt', 'alpha\n');
  const before = await Acp.start(t, machine);
  const session = await before.open();
  const prompts = ['first', 'second', 'third', 'fourth'];

  machine.model.push(
    { ...calls(['read_file', { target_file: 'a.txt' }], ['read_file', { target_file: 'no.txt' }]), parts: ['Looking. '] },
    calls(['todo_write', { merge: false, todos: [{ id: '1', content: 'look', status: 'completed' }, { id: '2', content: 'leap', status: 'pending' }] }]),
    say('Found ', 'it.'),
  );
  await before.prompt(session, prompts[0]);
  before.permit = choose('allow_once');
  machine.model.push(run('printf "1\\n2\\n"; exit 3'), say('It failed.'));
  await before.prompt(session, prompts[1]);
  const gate = new Gate();
  machine.model.push(say('half ', gate));
  const cut = before.prompt(session, prompts[2]);
  await before.until('half an answer', () => textIn(before.of(session)).endsWith('half '));
  await before.cancel(session);
  await cut;
  before.permit = dismiss;
  machine.model.push(run('touch never'));
  await before.prompt(session, prompts[3]);
  assert.deepEqual(await before.close(), { code: 0, signal: null });

  const after = await Acp.start(t, machine);
  const loaded = await after.request(methods.agent.session.load, { sessionId: session, cwd: machine.work, mcpServers: [] });
  assert.equal(loaded.modes.currentModeId, 'ask');
  const answered = after.received.findIndex((message) => message.result?.modes);
  const past = (messages) => shown(messages.filter(({ method }) => method === 'session/update').map(({ params }) => params.update));
  assert.deepEqual(past(after.received.slice(answered)), [], 'history after the answer to session/load');
  assert.ok(past(after.received.slice(0, answered)).length > 0);

  // An editor shows its own prompts itself; a replay brings them.
  const live = shown(before.of(session));
  const again = shown(after.of(session));
  assert.deepEqual(again.filter(({ entry }) => entry === 'user_message_chunk').map(({ text }) => text), prompts);
  assert.deepEqual(again.filter(({ entry }) => entry !== 'user_message_chunk'), live);

  machine.model.push(say('welcome back'));
  assert.equal((await after.prompt(session, 'fifth')).stopReason, 'end_turn');
  assert.ok(textIn(after.of(session)).endsWith('welcome back'));
});

test('session/resume replays nothing, session/list finds, session/close and session/delete end', async (t) => {
  const machine = await Machine.start(t);
  const before = await Acp.start(t, machine);
  assert.deepEqual((await before.request(methods.agent.session.list, {})).sessions, []);
  const session = await before.open();
  machine.model.push(say('one'));
  await before.prompt(session, 'Count to two');
  const again = { sessionId: session, cwd: machine.work, mcpServers: [] };

  const after = await Acp.start(t, machine);
  const { sessions, nextCursor } = await after.request(methods.agent.session.list, { cwd: machine.work });
  assert.deepEqual(sessions.map(({ sessionId, cwd, title }) => ({ sessionId, cwd, title })), [
    { sessionId: session, cwd: machine.work, title: 'Count to two' },
  ]);
  assert.ok(!nextCursor);
  const resumed = await after.request(methods.agent.session.resume, again);
  assert.equal(resumed.modes.currentModeId, 'ask');
  const gate = new Gate();
  machine.model.push(say('two ', gate));
  const cut = after.prompt(session, 'go on');
  await after.until('the text', () => textIn(after.of(session)) === 'two ');
  assert.deepEqual(shown(after.of(session)).map(({ text }) => text), ['two ']);

  const closed = after.request(methods.agent.session.close, { sessionId: session });
  assert.equal((await cut).stopReason, 'cancelled');
  await closed;
  await assert.rejects(after.prompt(session, 'there?'), { code: -32002 });
  for (const id of [session, session, 'never-made']) {
    await after.request(methods.agent.session.delete, { sessionId: id });
  }
  assert.deepEqual((await after.request(methods.agent.session.list, {})).sessions, []);
  await assert.rejects(after.request(methods.agent.session.load, again), { code: -32002 });
});

test('modes and configuration options are told in step', async (t) => {
  const machine = await Machine.start(t);
  const acp = await Acp.start(t, machine);
  const { sessionId, modes, configOptions } = await acp.request(methods.agent.session.new, { cwd: machine.work, mcpServers: [] });
  const values = (options) => Object.fromEntries(options.map(({ id, currentValue }) => [id, currentValue]));
  assert.equal(values(configOptions).mode, modes.currentModeId);
  assert.equal(typeof values(configOptions).model, 'string');
  const set = (value) => acp.request(methods.agent.session.setConfigOption, { sessionId, configId: 'mode', value });
  assert.equal(values((await set('plan')).configOptions).mode, 'plan');
  const of = (kind) => acp.of(sessionId).filter(({ sessionUpdate }) => sessionUpdate === kind);
  await acp.until('the option', () => of('config_option_update').length > 0);
  assert.deepEqual(of('current_mode_update').map(({ currentModeId }) => currentModeId), ['plan']);
  assert.equal(values(of('config_option_update')[0].configOptions).mode, 'plan');
  await assert.rejects(set('reckless'), { code: -32602 });
});

test('slash commands are offered and run here', async (t) => {
  const machine = await Machine.start(t);
  const acp = await Acp.start(t, machine);
  const session = await acp.open();
  const offered = () => acp.of(session).find(({ sessionUpdate }) => sessionUpdate === 'available_commands_update');
  const { availableCommands } = await acp.until('the commands', offered);
  assert.deepEqual(availableCommands.map(({ name }) => name), ['context', 'compact', 'undo', 'plan']);
  assert.equal((await acp.prompt(session, '/undo')).stopReason, 'end_turn');
  assert.match(textIn(acp.of(session)), /^There is nothing to undo/);
  assert.equal((await acp.prompt(session, '/context')).stopReason, 'end_turn');
  assert.match(textIn(acp.of(session)), /\| tool definitions \|/);
  machine.model.push(say('a plan'));
  await acp.prompt(session, '/plan the move');
  assert.match(machine.model.texts('user').join('\n'), /the move/);
});

test('a linked file is read from the editor, and MCP servers are named as not used', async (t) => {
  const machine = await Machine.start(t);
  const file = machine.file('a.txt', 'saved\n');
  for (const capabilities of [{}, { session: { notices: {} } }]) {
    const acp = await Acp.start(t, machine, { capabilities: { fs: { readTextFile: true, writeTextFile: false }, ...capabilities } });
    acp.readFile = ({ path }) => ({ content: `unsaved text of ${path}\n` });
    const mcpServers = [{ name: 'files', command: '/bin/false', args: [], env: [] }];
    const { sessionId } = await acp.request(methods.agent.session.new, { cwd: machine.work, mcpServers });
    machine.model.push(say('ok'));
    await acp.prompt(sessionId, [{ type: 'resource_link', name: 'a.txt', uri: `file://${file}` }]);
    assert.ok(machine.model.texts('user').at(-1).includes(`unsaved text of ${file}`));
    const notices = acp.of(sessionId).filter(({ sessionUpdate }) => sessionUpdate === 'notice');
    const told = capabilities.session ? notices[0].title : textIn(acp.of(sessionId));
    assert.match(told, /does not use MCP servers yet.*`files`/);
  }
});

test('in full mode nothing is asked, and a mode that does not exist is refused', async (t) => {
  const machine = await Machine.start(t);
  const acp = await Acp.start(t, machine);
  const session = await acp.open();
  const set = (modeId) => acp.request(methods.agent.session.setMode, { sessionId: session, modeId });
  await assert.rejects(set('plan-b'), { code: -32602 });
  await set('full');
  machine.model.push(run('touch free'), say('ok'));
  assert.equal((await acp.prompt(session, 'go')).stopReason, 'end_turn');
  assert.deepEqual([statuses(acp, session), acp.asked], [['completed'], []]);
  await set('ask');
  acp.permit = choose('reject_once');
  machine.model.push(run('touch free'), say('ok'));
  await acp.prompt(session, 'go');
  assert.deepEqual([statuses(acp, session), acp.asked.length], [['completed', 'failed'], 1]);
});

test('two sessions of one bridge run side by side and are not mixed up', async (t) => {
  const machine = await Machine.start(t);
  const acp = await Acp.start(t, machine);
  const [one, two] = [await acp.open(), await acp.open()];
  assert.notEqual(one, two);
  const gate = new Gate();
  machine.model.push(say('one ', gate, 'ends'));
  const first = acp.prompt(one, 'first');
  await gate.reached;
  machine.model.push(say('two'));
  assert.equal((await acp.prompt(two, 'second')).stopReason, 'end_turn');
  await acp.cancel(two);
  gate.open();
  assert.equal((await first).stopReason, 'end_turn');
  assert.deepEqual([textIn(acp.of(one)), textIn(acp.of(two))], ['one ends', 'two']);
});

test('one open question does not hold up another session', async (t) => {
  const machine = await Machine.start(t);
  const acp = await Acp.start(t, machine);
  const [one, two] = [await acp.open(), await acp.open()];
  let answer;
  acp.permit = (context) => new Promise((resolve) => (answer = () => resolve(choose('allow_once')(context))));
  machine.model.push(run('touch waited'));
  const first = acp.prompt(one, 'run');
  await acp.until('the question', () => answer);
  machine.model.push(say('two'));
  assert.equal((await acp.prompt(two, 'talk')).stopReason, 'end_turn');
  machine.model.push(say('ok'));
  answer();
  assert.equal((await first).stopReason, 'end_turn');
  assert.deepEqual(statuses(acp, one), ['completed']);
});

test('what is unknown or wrong gets an error, and the connection lives', async (t) => {
  const machine = await Machine.start(t);
  const acp = await Acp.start(t, machine);
  for (const [method, params, code] of [
    ['session/nonsense', {}, -32601],
    ['_plimsoll/nonsense', {}, -32601],
    ['session/new', { cwd: 'relative', mcpServers: [] }, -32602],
    ['session/new', { cwd: `${machine.work}/missing`, mcpServers: [] }, -32602],
    ['session/new', { cwd: 7 }, -32602],
    ['session/prompt', { sessionId: 'nonsense', prompt: [{ type: 'text', text: 'x' }] }, -32002],
    ['session/load', { sessionId: 'nonsense', cwd: machine.work, mcpServers: [] }, -32002],
    ['authenticate', { methodId: 'x' }, -32602],
  ]) {
    await assert.rejects(acp.request(method, params), { code }, method);
  }
  await acp.agent.notify('_nonsense', {});
  await acp.agent.notify('session/cancel', { sessionId: 'nonsense' });
  assert.match(await acp.open(), /./);
});

test('on the raw wire: nothing before initialize, garbage is answered and survived', async (t) => {
  const machine = await Machine.start(t);
  const child = machine.spawn('acp');
  const lines = createInterface({ input: child.stdout });
  const ask = async (line) => {
    child.stdin.write(`${line}\n`);
    const [text] = await once(lines, 'line');
    const message = JSON.parse(text);
    assert.deepEqual(faultsOf(message, new Map([[3, 'initialize']])), []);
    return [message.id, message.error?.code ?? message.result.protocolVersion];
  };
  const request = (id, method, params) => JSON.stringify({ jsonrpc: '2.0', id, method, params });
  assert.deepEqual(await ask(request(1, 'session/new', { cwd: machine.work, mcpServers: [] })), [1, -32600]);
  assert.deepEqual(await ask(request(2, 'initialize', { protocolVersion: '1' })), [2, -32602]);
  assert.deepEqual(await ask('{"jsonrpc":'), [null, -32700]);
  assert.deepEqual(await ask('[]'), [null, -32600]);
  assert.deepEqual(await ask(request(3, 'initialize', { protocolVersion: 1 })), [3, 1]);
  child.stdin.end();
  assert.deepEqual(await child.ended, { code: 0, signal: null });
});
