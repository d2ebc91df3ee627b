// The extension in a real VS Code, on the real daemon, with a scripted model. Started by `test/run --e2e`.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { Machine } from '../../../../tests/clients/support/machine.mjs';
import { Gate, calls, say } from '../../../../tests/clients/support/model.mjs';
import { PATIENCE, inWorkbench } from './workbench.mjs';

const NOTES = 'one\ntwo\nthree\n';

test('a prompt streams, asks, is stopped, and survives the death of the daemon', { timeout: 10 * PATIENCE }, async (t) => {
  const machine = await Machine.start(t);
  machine.file('notes.txt', NOTES);
  await inWorkbench(machine, {}, async (code) => {
    const { chat, page } = code;
    await code.openChat();
    const box = chat.locator('textarea');
    const log = chat.locator('.log');
    const ended = (turns) => chat.locator('.entry.end').nth(turns - 1).waitFor();
    await chat.locator('.empty').getByText('Ask about work').waitFor();
    await code.picture('1-empty');

    // Streaming: the first half is there while the second is held back.
    const gate = new Gate();
    machine.model.push(
      calls(['read_file', { target_file: 'notes.txt' }]),
      say('## What it says\n\nThree **words**, `one` to ', gate, '`three`:\n\n```text\none\ntwo\nthree\n```\n\n[the file](notes.txt) <b>no markup</b>'),
    );
    await box.fill('What do my notes say?');
    await box.press('Enter');
    await log.getByText('Three words, one to').waitFor();
    await chat.locator('.entry.tool .ok, .entry.tool summary.ok').first().waitFor();
    await chat.getByRole('button', { name: 'Stop the turn' }).waitFor();
    await code.picture('2-streaming');
    gate.open();
    await ended(1);
    assert.equal(await log.locator('.markdown h2').textContent(), 'What it says');
    assert.equal(await log.locator('.markdown b').count(), 0, 'HTML of the model is text');
    await log.getByText('<b>no markup</b>').waitFor();
    await chat.locator('header .title', { hasText: 'What do my notes say?' }).waitFor();
    await code.picture('3-answered');

    // A link to a file opens it in the editor.
    await log.getByRole('link', { name: 'the file' }).click();
    await page.locator('.tab', { hasText: 'notes.txt' }).waitFor();

    // The open file goes along with the next prompt.
    await code.run('Plimsoll: Add to Plimsoll Prompt');
    await chat.locator('.chip', { hasText: 'notes.txt' }).waitFor();

    // A question, answered by the keyboard: the difference is shown before.
    machine.model.push(
      calls(['string_replace', { file_path: 'notes.txt', old_string: 'two', new_string: 'zwei' }]),
      calls(['run_terminal_cmd', { command: 'rm notes.txt' }]),
      say('The second line is German now.'),
    );
    await box.fill('Translate the second line');
    await box.press('Enter');
    const ask = chat.locator('.ask');
    await ask.locator('.minus', { hasText: 'two' }).waitFor();
    await page.locator('.statusbar-item', { hasText: 'Plimsoll asks' }).waitFor();
    await code.picture('4-question');
    await ask.getByRole('button').filter({ hasText: /^Allow/ }).first().focus();
    await page.keyboard.press('Enter');
    await ask.getByText('rm notes.txt').first().waitFor();
    await code.picture('5-command');
    assert.match(machine.model.texts('user').at(-1), /notes\.txt[^]*Translate the second line/);
    assert.equal(await chat.locator('.chip').count(), 0);
    // A rejection with advice goes to the model.
    await ask.locator('.advice').fill('keep the file');
    await ask.locator('.advice').press('Enter');
    await ended(2);
    assert.match(machine.model.texts('tool').at(-1), /keep the file/);
    assert.equal(fs.readFileSync(path.join(machine.work, 'notes.txt'), 'utf8'), 'one\nzwei\nthree\n');
    await code.picture('6-edited');

    // Stopped.
    machine.model.push(say('This goes on ', new Gate(), 'for ever.'));
    await box.fill('Tell me a long story');
    await box.press('Enter');
    await log.getByText('This goes on').waitFor();
    // A second prompt waits behind the running one.
    machine.model.push(say('The second prompt is answered.'));
    await box.fill('And then?');
    await box.press('Enter');
    await chat.locator('.pending').getByText('queued').waitFor();
    await code.picture('7-queued');
    await chat.getByRole('button', { name: 'Stop the turn' }).click();
    await log.getByText('The second prompt is answered.').waitFor();
    await ended(4);
    await log.getByText('Interrupted by the user.').waitFor();
    assert.equal(await chat.locator('.pending .entry').count(), 0);

    // The daemon is killed in the middle of an answer. The extension is back by itself, and nothing is lost or doubled.
    machine.model.push(say('A half ', new Gate(), 'sentence'));
    await box.fill('Say something');
    await box.press('Enter');
    await log.getByText('A half').waitFor();
    const before = machine.daemonPid();
    process.kill(before, 'SIGKILL');
    await ended(5);
    await page.locator('.statusbar-item[aria-label^="Plimsoll"]').first().waitFor();
    assert.notEqual(machine.daemonPid(), before);
    await code.picture('8-recovered');
    machine.model.push(say('All is well.'));
    await box.fill('Still there?');
    await box.press('Enter');
    await log.getByText('All is well.').waitFor();
    await ended(6);
    const prompts = await log.locator('.user .bubble').allTextContents();
    assert.deepEqual(prompts, ['What do my notes say?', 'Translate the second line', 'Tell me a long story', 'And then?', 'Say something', 'Still there?']);

    // A hidden view is a page that is gone: the next one shows the same conversation, with the draft.
    await box.fill('not sent yet');
    await page.locator('.activitybar .action-label[aria-label^="Explorer"]').first().click();
    await page.locator('.explorer-viewlet').waitFor();
    await code.openChat();
    await ended(6);
    assert.equal(await box.inputValue(), 'not sent yet');
    await box.fill('');

    // So does a reload of the window.
    const shown = await log.locator('.entry.assistant .markdown').allTextContents();
    await page.reload();
    await chat.locator('textarea').waitFor();
    await ended(6);
    assert.deepEqual(await log.locator('.entry.assistant .markdown').allTextContents(), shown);
    await code.picture('9-reloaded');
    const csp = code.faults.filter((fault) => /Content Security Policy/.test(fault) && /plimsoll/.test(fault));
    assert.deepEqual(csp, []);
  });
});

test('sessions, modes, a plan, a background of another colour, and a program that is not found', { timeout: 10 * PATIENCE }, async (t) => {
  const machine = await Machine.start(t);
  machine.file('src/main.rs', 'fn main() {}\n');
  const options = { theme: 'Default Light Modern', settings: { 'plimsoll.path': '/nowhere/plimsoll' } };
  await inWorkbench(machine, options, async (code) => {
    const { chat, page } = code;
    await code.openChat();
    const box = chat.locator('textarea');
    const log = chat.locator('.log');
    const quick = page.locator('.quick-input-widget');
    const ended = (turns) => chat.locator('.entry.end').nth(turns - 1).waitFor();

    // The reason says what to do; a prompt waits meanwhile. The right path is taken up by itself.
    await chat.locator('.banner').getByText('was not found').waitFor();
    await box.fill('Make a plan');
    await box.press('Enter');
    await chat.locator('.pending').getByText('waits for the daemon').waitFor();
    await code.picture('light-1-not-found');
    const todo = (id, content, status) => ({ id, content, status });
    const gate = new Gate();
    machine.model.push(
      calls(['todo_write', { merge: false, todos: [todo('1', 'Read the code', 'completed'), todo('2', 'Write the test', 'in_progress'), todo('3', 'Run it', 'pending')] }]),
      say('The plan ', gate, 'stands.'),
    );
    code.configure({ 'plimsoll.path': machine.binary });
    await log.getByText('The plan').waitFor();
    await chat.locator('.todos').getByText('Plan 1/3').waitFor();
    await code.picture('light-2-plan');
    gate.open();
    await ended(1);

    // The mode, by the button under the box.
    await chat.locator('.mode').click();
    await quick.getByText('accept_edits').first().waitFor();
    await page.keyboard.type('accept_edits');
    await page.keyboard.press('Enter');
    await chat.locator('.mode', { hasText: 'accept_edits' }).waitFor();

    // An edit in this mode asks nobody, and its difference opens in the editor.
    machine.model.push(
      calls(['write', { file_path: 'src/lib.rs', contents: 'pub fn one() -> u8 {\n    1\n}\n' }], ['run_terminal_cmd', { command: 'ls src' }]),
      say('Written.'),
    );
    await box.fill('Write a library');
    await box.press('Enter');
    await ended(2);
    await log.locator('.change').getByText('lib.rs').waitFor();
    await log.locator('summary', { hasText: 'ls src' }).click();
    await log.getByText('exit code 0').waitFor();
    await log.getByRole('button', { name: 'Open diff' }).click();
    await page.locator('.tab', { hasText: 'lib.rs (Plimsoll)' }).waitFor();
    await code.picture('light-3-diff');

    // A prompt that joins the running turn at its next step.
    const held = new Gate();
    machine.model.push({ ...calls(['list_dir', { target_directory: '.' }]), parts: ['Let me see. ', held] }, say('Only the sources, then.'));
    await box.fill('Look around');
    await box.press('Enter');
    await log.getByText('Let me see.').waitFor();
    await box.fill('only in src');
    await box.press('ControlOrMeta+Enter');
    await chat.locator('.pending').getByText('joins at the next step').waitFor();
    held.open();
    await ended(3);
    await log.getByText('joined the running turn').waitFor();
    assert.match(machine.model.texts('user').at(-1), /only in src/);

    // Another session, and back; a new name; one is deleted.
    await code.run('Plimsoll: New Session');
    await chat.locator('.empty').waitFor();
    machine.model.push(say('Hello.'));
    await box.fill('Say hello');
    await box.press('Enter');
    await ended(1);
    await chat.locator('header .title').click();
    await quick.getByText('Make a plan').waitFor();
    await code.picture('light-4-sessions');
    await page.keyboard.type('Make a plan');
    await page.keyboard.press('Enter');
    await ended(3);
    await code.run('Plimsoll: Rename Session');
    await quick.getByText('Title of the session').waitFor();
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.type('The plan');
    await page.keyboard.press('Enter');
    await chat.locator('header .title', { hasText: 'The plan' }).waitFor();
    await code.run('Plimsoll: Delete Session');
    await page.locator('.monaco-dialog-box').getByText('Delete “The plan”?').waitFor();
    await page.locator('.monaco-dialog-box').getByRole('button', { name: 'Delete' }).click();
    await chat.locator('.empty').waitFor();
    await chat.locator('header .title').click();
    await quick.getByText('Say hello').waitFor();
    assert.equal(await quick.getByText('The plan').count(), 0);

    // From the list itself; it comes back without the session, and closes.
    const row = quick.locator('.monaco-list-row', { hasText: 'Say hello' });
    await row.hover();
    await row.locator('.codicon-trash').click();
    await page.locator('.monaco-dialog-box').getByText('Delete “Say hello”?').waitFor();
    await page.locator('.monaco-dialog-box').getByRole('button', { name: 'Delete' }).click();
    await row.waitFor({ state: 'detached' });
    await quick.getByText('New session').waitFor();
    await page.keyboard.press('Escape');
    await quick.waitFor({ state: 'hidden' });
  });
});
