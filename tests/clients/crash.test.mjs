// What a client sees when the daemon dies under it, and what the daemon does when a client dies.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { methods } from '@agentclientprotocol/sdk';
import { Acp, callsIn, choose, shown, textIn } from './support/acp.mjs';
import { Machine, inTime } from './support/machine.mjs';
import { Gate, calls, say } from './support/model.mjs';

/** The bridge's exit code when the daemon left while the editor was there. */
const DAEMON_LEFT = 4;

const load = (acp, sessionId) =>
  acp.request(methods.agent.session.load, { sessionId, cwd: acp.machine.work, mcpServers: [] });

test('the daemon is killed in a command: the bridge says so, and the session goes on in a new one', async (t) => {
  const machine = await Machine.start(t, { mode: 'full' });
  const before = await Acp.start(t, machine);
  const session = await before.open();
  machine.model.push(calls(['run_terminal_cmd', { command: 'echo started; echo $$ > pid.txt; sleep 600' }]));
  const prompt = before.prompt(session, 'work');
  await before.until('output of the command', () =>
    callsIn(before.of(session)).some(({ content }) => /started/.test(content?.[0].content.text)),
  );
  process.kill(machine.daemonPid(), 'SIGKILL');
  await assert.rejects(prompt);
  assert.deepEqual(await inTime("the bridge's end", before.child.ended), { code: DAEMON_LEFT, signal: null });
  assert.match(before.child.said, /the daemon closed the connection/);

  const after = await Acp.start(t, machine);
  await load(after, session);
  const [call] = callsIn(after.of(session));
  assert.deepEqual([call.status, call.kind], ['failed', 'execute']);
  machine.model.push(say('Where were we?'));
  assert.equal((await after.prompt(session, 'go on')).stopReason, 'end_turn');
  assert.equal(textIn(after.of(session)), 'Where were we?');
  assert.match(machine.model.texts('tool').at(-1), /unknown/);
  // What the command's group was is gone.
  const pid = Number(fs.readFileSync(path.join(machine.work, 'pid.txt'), 'utf8'));
  assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
});

test('the daemon is killed while a question is open: it is asked again, and the turn goes on', async (t) => {
  const machine = await Machine.start(t);
  const before = await Acp.start(t, machine);
  const session = await before.open();
  let asked;
  before.permit = () => {
    asked = true;
    return new Promise(() => {});
  };
  machine.model.push(calls(['run_terminal_cmd', { command: 'echo never > never.txt' }]));
  const prompt = before.prompt(session, 'work');
  await before.until('the question', () => asked);
  process.kill(machine.daemonPid(), 'SIGKILL');
  await assert.rejects(prompt);
  await before.child.ended;

  const after = await Acp.start(t, machine);
  after.permit = choose('reject_once');
  machine.model.push(say('Not done.'));
  await load(after, session);
  await after.until('the end of the turn', () => textIn(after.of(session)) === 'Not done.');
  assert.equal(after.asked.length, 1);
  assert.deepEqual(callsIn(after.of(session)).map(({ status }) => status), ['failed']);
  assert.equal(fs.existsSync(path.join(machine.work, 'never.txt')), false);
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
