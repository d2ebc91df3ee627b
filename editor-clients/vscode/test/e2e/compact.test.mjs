// A conversation that is shortened by hand, in a real VS Code, on the real daemon, with a scripted model.

import assert from 'node:assert/strict';
import test from 'node:test';
import { Machine } from '../../../../tests/clients/support/machine.mjs';
import { Gate, calls, say, summary } from '../../../../tests/clients/support/model.mjs';
import { PATIENCE, inWorkbench } from './workbench.mjs';

test('a command shortens the conversation, shows that it does, and says what became of it', { timeout: 5 * PATIENCE }, async (t) => {
  const machine = await Machine.start(t);
  // What is worth to be shortened is told by what the provider counts.
  machine.model.counts = true;
  machine.file('notes.txt', 'note: words and words and words\n'.repeat(400));
  await inWorkbench(machine, {}, async (code) => {
    const { chat, page } = code;
    await code.openChat();
    const box = chat.locator('textarea');
    const log = chat.locator('.log');
    const ended = (turns) => chat.locator('.entry.end').nth(turns - 1).waitFor();
    machine.model.push(calls(['read_file', { target_file: 'notes.txt' }]));
    for (let turn = 1; turn <= 5; turn += 1) {
      machine.model.push(say(`Answer ${turn}.`));
      await box.fill(turn === 1 ? 'Never edit notes.txt' : 'Go on');
      await box.press('Enter');
      await ended(turn);
    }
    const before = machine.model.texts('tool').join();
    assert.match(before, /words and words/);

    const gate = new Gate();
    machine.model.push(summary('The notes were read.', gate));
    await code.run('Plimsoll: Shorten the Conversation for the Model');
    await gate.reached;
    await chat.getByText('Shortening the conversation for the model…').waitFor();
    await page.locator('.statusbar-item[aria-label*="Shortening the conversation"]').first().waitFor();
    await code.picture('compact-1-goes-on');
    gate.open();
    await log.getByText(/The conversation was shortened for the model from about \d+ to about \d+ tokens/).waitFor();
    await chat.getByText('Shortening the conversation for the model…').waitFor({ state: 'hidden' });
    await code.picture('compact-2-done');

    machine.model.push(say('Answer 6.'));
    await box.fill('And now?');
    await box.press('Enter');
    await ended(6);
    const said = machine.model.texts('user').join('\n');
    for (const part of ['The notes were read.', 'Never edit notes.txt', 'And now?']) assert.ok(said.includes(part), part);
    assert.doesNotMatch(machine.model.texts('tool').join(), /words and words/);
    // What people see is whole.
    assert.deepEqual(await log.locator('.user .bubble').allTextContents(), ['Never edit notes.txt', 'Go on', 'Go on', 'Go on', 'Go on', 'And now?']);
  });
});
