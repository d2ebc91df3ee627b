// The exchanges of ../conformance, played by its server in the place of the daemon.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test from 'node:test';
import { startBridge, type Ended } from '../../src/client/bridge';
import type { Entry } from '../../src/model/view';
import { listen } from '../support/listener';

const CONFORMANCE = path.resolve('../conformance');

interface Step {
  call?: string;
  error?: object;
  event?: { type: string; seq?: number };
  deltas?: { block?: number };
  pieces?: string[];
  from?: number;
  close?: boolean;
  user?: { does: 'prompt' | 'answer' | 'cancel' | 'steer'; text?: string; choice?: string; advice?: string; sees?: { reasoning: string } };
}

interface Case {
  about: string;
  values: { root: string };
  steps: Step[];
  shows: unknown[][];
}

const names = fs.existsSync(CONFORMANCE) ? fs.readdirSync(path.join(CONFORMANCE, 'cases')).map((file) => path.basename(file, '.json')) : [];

test('the exchanges are there', { skip: names.length === 0 && 'there is no ../conformance' }, () => {
  assert.ok(names.includes('happy_path') && names.includes('reconnect'), names.join());
});

for (const name of names) {
  const played = JSON.parse(fs.readFileSync(path.join(CONFORMANCE, 'cases', `${name}.json`), 'utf8')) as Case;
  test(`${name}: ${played.about}`, async (t) => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'plimsoll-conformance-'));
    t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
    process.env['PLIMSOLL_CONFORMANCE_CASE'] = name;
    process.env['PLIMSOLL_CONFORMANCE_STATE'] = path.join(folder, 'state.json');
    const said: string[] = [];
    const ends: Promise<Ended>[] = [];
    const { chat, heard } = listen({
      roots: [played.values.root],
      start: () => {
        const bridge = startBridge({ program: path.join(CONFORMANCE, 'serve.mjs'), log: (line) => said.push(line) });
        ends.push(bridge.ended);
        return bridge;
      },
    });
    chat.start();
    await chat.ensureSession();

    let seq = 0;
    let errors = 0;
    /** The text of the last deltas. */
    let streamed = '';
    const caughtUp = (): boolean => {
      const view = chat.view;
      if (!view || view.seq < seq || heard.returned.length < errors) return false;
      const shows = view.entries.some((entry) => 'text' in entry && (entry.text ?? '').endsWith(streamed));
      return streamed === '' || shows || view.seq > seq;
    };
    for (const [index, step] of played.steps.entries()) {
      if (step.call && step.error) errors += 1;
      if (step.event?.seq !== undefined) {
        seq = step.event.seq;
        streamed = '';
      }
      if (step.pieces) streamed = step.pieces.join('');
      if (!step.user) continue;
      await heard.until(`step ${index} has come; the server says: ${said.join('; ')}`, caughtUp);
      const { does, text = '', choice = '', advice, sees } = step.user;
      if (sees) assert.deepEqual(chat.view?.entries.flatMap((entry) => (entry.kind === 'reasoning' ? [entry.text] : [])), [sees.reasoning]);
      if (does === 'prompt') chat.prompt(text, 'start', []);
      else if (does === 'steer') chat.prompt(text, 'steer', []);
      else if (does === 'answer') void chat.respond(chat.view?.asks[0]?.id ?? '', choice, advice);
      else void chat.cancel();
    }
    await heard.until(`all has come; the server says: ${said.join('; ')}`, () => (chat.view?.seq ?? 0) >= seq);
    // The gauge asks for its lines when a turn has ended; without that the last answer might come too late for the end.
    await heard.until('the gauge has its lines', () => chat.lines !== undefined);
    await chat.stop();
    assert.deepEqual((await Promise.all(ends)).at(-1)?.code, 0, said.join('\n'));
    assert.equal(JSON.parse(fs.readFileSync(path.join(folder, 'state.json'), 'utf8')).verdict, 'passed');
    assert.deepEqual(shown(chat.view?.entries ?? []), played.shows);
    assert.deepEqual(heard.pending, []);
    const seqs = played.steps.flatMap(({ event }) => event?.seq ?? []);
    assert.equal(chat.view?.seq, seqs.at(-1));
  });
}

function shown(entries: readonly Entry[]): unknown[][] {
  return entries.flatMap((entry) => {
    switch (entry.kind) {
      case 'user':
        return [['user', entry.text]];
      case 'assistant':
        return [['assistant', entry.text]];
      case 'tool':
        return [['call', entry.tool, entry.status]];
      case 'notice':
        return [['notice']];
      case 'reasoning':
      case 'end':
        return [];
    }
  });
}
