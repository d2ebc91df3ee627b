// acpx, a headless ACP client of others, unmodified: one-shot prompts and sessions that it takes up again.

import assert from 'node:assert/strict';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { Machine } from './support/machine.mjs';
import { calls, say } from './support/model.mjs';

const program = fileURLToPath(new URL('./node_modules/.bin/acpx', import.meta.url));

/** acpx's exit code when every permission was denied. */
const DENIED = 5;

const runner = (machine) => (...args) =>
  machine.run(program, ['--agent', `${machine.binary} acp`, '--cwd', machine.work, ...args]);

function script(machine) {
  machine.model.push(calls(['run_terminal_cmd', { command: 'echo ran > ran.txt' }]), say('all ', 'done'));
}

for (const [option, code, status, files] of [
  ['--approve-all', 0, 'completed', 'ran.txt\n'],
  ['--deny-all', DENIED, 'failed', ''],
]) {
  test(`acpx exec ${option}`, async (t) => {
    const machine = await Machine.start(t);
    const acpx = runner(machine);

    script(machine);
    const text = await acpx(option, 'exec', 'run it');
    assert.equal(text.code, code, text.stderr);
    assert.match(text.stdout, new RegExp(`\\[tool\\] .*echo ran.* \\(${status}\\)`));
    assert.match(text.stdout, /all done\n+\[done\] end_turn/);
    assert.equal((await machine.run('ls', [])).stdout, files);

    script(machine);
    const json = await acpx(option, '--format', 'json', '--json-strict', 'exec', 'run it');
    assert.equal(json.code, code, json.stderr);
    const messages = json.stdout.trim().split('\n').map((line) => JSON.parse(line));
    const updates = messages.filter(({ method }) => method === 'session/update').map(({ params }) => params.update);
    assert.equal(updates.filter(({ toolCallId }) => toolCallId).at(-1).status, status);
    assert.equal(messages.at(-1).result.stopReason, 'end_turn');
  });
}

test('acpx keeps a session: new, prompt, mode, prompt, list, history, close', async (t) => {
  const machine = await Machine.start(t);
  const acpx = runner(machine);
  const ok = async (...args) => {
    const done = await acpx(...args);
    assert.equal(done.code, 0, `acpx ${args.join(' ')}: ${done.stderr}`);
    return done.stdout;
  };
  // A process of acpx's own keeps the bridge of a session; it ends with the session.
  t.after(() => acpx('sessions', 'close'));
  const id = (await ok('sessions', 'new')).trim();
  machine.model.push(say('one'));
  assert.match(await ok('prompt', 'first'), /^one$/m);
  assert.match(await ok('set-mode', 'full'), /full/);
  machine.model.push(calls(['run_terminal_cmd', { command: 'echo free' }]), say('two'));
  assert.match(await ok('--deny-all', 'prompt', 'second'), /^two$/m);
  assert.deepEqual(
    machine.model.texts('user').map((text) => /first|second/.exec(text)?.[0]).filter(Boolean),
    ['first', 'second'],
    'the second prompt went to another session',
  );
  assert.ok((await ok('sessions', 'list')).includes(id));
  const history = await ok('sessions', 'history');
  assert.match(history, /user\tfirst[^]*assistant\tone[^]*user\tsecond[^]*assistant\t.*two/);
  await ok('sessions', 'close');
});
