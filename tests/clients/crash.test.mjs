// What a client sees when the daemon dies under it, and what the daemon does when a client dies.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { methods } from '@agentclientprotocol/sdk';
import { Acp, callsIn, choose, shown, textIn } from './support/acp.mjs';
import { Machine, inTime } from './support/machine.mjs';
import { Gate, calls, say } from './support/model.mjs';

const load = (acp, sessionId) =>
  acp.request(methods.agent.session.load, { sessionId, cwd: acp.machine.work, mcpServers: [] });

test('the daemon is killed in a command: its prompt fails, and the same bridge goes on', async (t) => {
  const machine = await Machine.start(t, { mode: 'full' });
  const acp = await Acp.start(t, machine);
  const session = await acp.open();
  machine.model.push(calls(['run_terminal_cmd', { command: 'echo started; echo $$ > pid.txt; sleep 600' }]));
  const prompt = acp.prompt(session, 'work');
  await acp.until('output of the command', () =>
    callsIn(acp.of(session)).some(({ content }) => /started/.test(content?.[0].content.text)),
  );
  const before = machine.daemonPid();
  process.kill(before, 'SIGKILL');
  await assert.rejects(prompt);
  const [call] = callsIn(acp.of(session));
  assert.deepEqual([call.status, call.kind], ['failed', 'execute']);
  machine.model.push(say('Where were we?'));
  assert.equal((await acp.prompt(session, 'go on')).stopReason, 'end_turn');
  assert.equal(textIn(acp.of(session)), 'Where were we?');
  assert.match(machine.model.texts('tool').at(-1), /unknown/);
  assert.notEqual(machine.daemonPid(), before);
  // What the command's group was is gone.
  const pid = Number(fs.readFileSync(path.join(machine.work, 'pid.txt'), 'utf8'));
  assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
  assert.deepEqual(await acp.close(), { code: 0, signal: null });
});

test('the daemon is killed while a question is open: it is asked again, and the prompt goes on', async (t) => {
  const machine = await Machine.start(t);
  const acp = await Acp.start(t, machine);
  const session = await acp.open();
  acp.permit = () => new Promise(() => {});
  machine.model.push(calls(['run_terminal_cmd', { command: 'echo never > never.txt' }]));
  const prompt = acp.prompt(session, 'work');
  await acp.until('the question', () => acp.asked.length > 0);
  acp.permit = choose('reject_once');
  machine.model.push(say('Not done.'));
  process.kill(machine.daemonPid(), 'SIGKILL');
  assert.equal((await prompt).stopReason, 'end_turn');
  assert.equal(acp.asked.length, 2);
  assert.equal(textIn(acp.of(session)), 'Not done.');
  assert.deepEqual(callsIn(acp.of(session)).map(({ status }) => status), ['failed']);
  assert.equal(fs.existsSync(path.join(machine.work, 'never.txt')), false);
});

test('the daemon is stopped: the bridge stays, and starts one when the editor needs it', async (t) => {
  const machine = await Machine.start(t);
  const acp = await Acp.start(t, machine);
  const session = await acp.open();
  assert.equal((await machine.run(machine.binary, ['stop'])).code, 0);
  assert.equal((await machine.run(machine.binary, ['status'])).code, 3);
  machine.model.push(say('Here.'));
  assert.equal((await acp.prompt(session, 'talk')).stopReason, 'end_turn');
  assert.equal(textIn(acp.of(session)), 'Here.');
});

test('the bridge is killed in the middle of a prompt: the daemon finishes it', async (t) => {
  const machine = await Machine.start(t, { mode: 'full' });
  const before = await Acp.start(t, machine);
  const session = await before.open();
  const gate = new Gate();
  machine.model.push(say('To be ', gate, 'continued'), say('bye'));
  const prompt = before.prompt(session, 'talk');
  await before.until('the first half', () => textIn(before.of(session)) === 'To be ');
  const daemon = machine.daemonPid();
  before.child.kill('SIGKILL');
  await assert.rejects(prompt);

  const after = await Acp.start(t, machine);
  assert.equal(machine.daemonPid(), daemon);
  await load(after, session);
  gate.open();
  await after.until('the whole answer', () => textIn(after.of(session)) === 'To be continued');
  assert.equal((await after.prompt(session, 'goodbye')).stopReason, 'end_turn');
  assert.deepEqual(
    shown(after.of(session)).map(({ entry, text }) => [entry, text]),
    [
      ['user_message_chunk', 'talk'],
      ['agent_message_chunk', 'To be continued'],
      ['agent_message_chunk', 'bye'],
    ],
  );
});

test('the editor closes its side in the middle of a prompt: the bridge ends at once, the daemon goes on', async (t) => {
  const machine = await Machine.start(t, { mode: 'full' });
  const before = await Acp.start(t, machine);
  const session = await before.open();
  const gate = new Gate();
  machine.model.push(say('half ', gate, 'whole'));
  const prompt = before.prompt(session, 'talk');
  prompt.catch(() => {});
  await before.until('the first half', () => textIn(before.of(session)) === 'half ');
  const closed = performance.now();
  assert.deepEqual(await before.close(), { code: 0, signal: null });
  assert.ok(performance.now() - closed < 5_000, 'the bridge outlives its editor');
  await assert.rejects(prompt);
  gate.open();
  const after = await Acp.start(t, machine);
  await load(after, session);
  await after.until('the whole answer', () => textIn(after.of(session)) === 'half whole');
});

test('the bridge is killed while a question is open: the next one that loads the session is asked', async (t) => {
  const machine = await Machine.start(t);
  const before = await Acp.start(t, machine);
  const session = await before.open();
  before.permit = () => new Promise(() => {});
  machine.model.push(calls(['run_terminal_cmd', { command: 'echo ran > ran.txt' }]), say('Done.'));
  const prompt = before.prompt(session, 'work');
  await before.until('the question', () => before.asked.length > 0);
  before.child.kill('SIGKILL');
  await assert.rejects(prompt);

  const after = await Acp.start(t, machine);
  after.permit = choose('allow_once');
  await load(after, session);
  await after.until('the answer', () => textIn(after.of(session)) === 'Done.');
  assert.deepEqual(callsIn(after.of(session)).map(({ status }) => status), ['completed']);
  assert.equal(fs.readFileSync(path.join(machine.work, 'ran.txt'), 'utf8'), 'ran\n');
});
