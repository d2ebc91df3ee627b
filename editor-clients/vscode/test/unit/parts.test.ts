// The small parts, each by itself.

import assert from 'node:assert/strict';
import path from 'node:path';
import test from 'node:test';
import { findProgram } from '../../src/binary';
import { sides } from '../../src/diffView';
import { count, duration, money, percent } from '../../src/figures';
import { target } from '../../src/links';
import { ago } from '../../src/picks';
import { statusText } from '../../src/status';
import { emptyView } from '../../src/model/view';
import { toHtml } from '../../src/webview/markdown';
import { changesOf, commandOf } from '../../src/webview/tool';
import { ask } from '../support/events';

test('the program: absolute, in the home folder, on the PATH, or where installers put it', () => {
  const find = (setting: string, ...there: string[]): string | undefined =>
    findProgram(setting, {
      env: { PATH: ['/usr/bin', 'relative', '/opt/bin'].join(path.delimiter) },
      home: '/home/u',
      platform: 'linux',
      isProgram: (file) => there.includes(file),
    });
  assert.equal(find('plimsoll', '/opt/bin/plimsoll', '/home/u/.cargo/bin/plimsoll'), '/opt/bin/plimsoll');
  assert.equal(find('', '/home/u/.cargo/bin/plimsoll'), '/home/u/.cargo/bin/plimsoll');
  assert.equal(find('~/b/plimsoll', '/home/u/b/plimsoll'), '/home/u/b/plimsoll');
  assert.equal(find('/x/plimsoll', '/x/plimsoll'), '/x/plimsoll');
  assert.equal(find('relative/plimsoll', 'relative/plimsoll'), undefined);
  assert.equal(find('plimsoll', 'relative/plimsoll'), undefined);
});

test('links: pages are opened, programs asked about, files shown, the rest refused', () => {
  const to = (href: string): unknown => target(href, '/p');
  assert.deepEqual(to('https://example.org/a'), { kind: 'external', href: 'https://example.org/a' });
  assert.deepEqual(to('mailto:a@example.org'), { kind: 'ask', href: 'mailto:a@example.org', scheme: 'mailto' });
  for (const href of ['javascript:alert(1)', 'command:workbench.action.quit', 'vscode:x', 'data:text/html,x']) {
    assert.equal((to(href) as { kind: string }).kind, 'refused', href);
  }
  assert.deepEqual(to('src/a.rs'), { kind: 'file', path: '/p/src/a.rs' });
  assert.deepEqual(to('src/a.rs:12:3'), { kind: 'file', path: '/p/src/a.rs', line: 12 });
  assert.deepEqual(to('/q/a%20b.ts#L10-L20'), { kind: 'file', path: '/q/a b.ts', line: 10 });
  assert.deepEqual(to('file:///q/a.ts#L3'), { kind: 'file', path: '/q/a.ts' });
  assert.deepEqual(to('README.md#install'), { kind: 'file', path: '/p/README.md' });
  assert.equal((to('#here') as { kind: string }).kind, 'refused');
  assert.equal(target('a.rs', undefined).kind, 'refused');
});

test('Markdown: no HTML of the model, no picture, no link that leads somewhere by itself', () => {
  assert.equal(toHtml('<img src=x onerror=alert(1)>'), '<p>&lt;img src=x onerror=alert(1)&gt;</p>\n');
  assert.equal(
    toHtml('[a"b](https://example.org/"x)'),
    '<p><a role="link" tabindex="0" data-href="https://example.org/%22x" title="https://example.org/%22x">a&quot;b</a></p>\n',
  );
  assert.equal(
    toHtml('![p](https://example.org/p.png)'),
    '<p><a role="link" tabindex="0" data-href="https://example.org/p.png" title="https://example.org/p.png">p</a></p>\n',
  );
  assert.equal(toHtml('[x](javascript:alert(1))'), '<p>[x](javascript:alert(1))</p>\n');
  assert.ok(!/href="/.test(toHtml('https://example.org and main.rs').replaceAll('data-href', '')));
  assert.equal(toHtml('main.rs'), '<p>main.rs</p>\n');
});

test('a difference has two sides', () => {
  assert.deepEqual(sides('@@ -1,3 +1,3 @@\n one\n-two\n+zwei\n three\n@@ -9,1 +9,0 @@\n-nine\n'), {
    before: 'one\ntwo\nthree\n⋯\nnine\n',
    after: 'one\nzwei\nthree\n⋯\n',
  });
});

test('a new file is nothing on one side', () => {
  assert.deepEqual(sides('@@ -0,0 +1,1 @@\n+one\n'), { before: '', after: 'one\n' });
});

test('what a command said and how it ended', () => {
  const run = { command: 'make', exit: { type: 'code', code: 2 }, durationMs: 1234, output: { head: 'a\n', omitted: 0, tail: 'b\n', totalBytes: 4 } };
  assert.deepEqual(commandOf({ kind: 'command', ...run }), { command: 'make', output: 'a\nb', how: 'exit code 2 · 1.2 s' });
  assert.deepEqual(commandOf({ kind: 'task', id: 'c1', run: { ...run, exit: { type: 'running' } } })?.how, 'goes on in the background');
  assert.match(commandOf({ kind: 'command', ...run, output: { head: 'a', omitted: 7, tail: 'b' } })?.output ?? '', /7 bytes are not shown/);
  assert.equal(commandOf({ kind: 'text', text: 'x' }), undefined);
  assert.deepEqual(changesOf({ kind: 'edit', files: [{ path: 'a', diff: '' }, { nonsense: 1 }] }), [{ path: 'a', diff: '' }]);
});

test('figures', () => {
  assert.deepEqual([0, 0.004, 0.426, 1.2].map(percent), ['0%', '<1%', '43%', '120%']);
  assert.deepEqual([999, 1000, 24_500, 200_000, 1_500_000].map(count), ['999', '1k', '24.5k', '200k', '1.5M']);
  assert.deepEqual([0, 0.0012, 1.5].map(money), ['$0.00', '$0.0012', '$1.50']);
  assert.deepEqual([12, 1500, 61_000].map(duration), ['12 ms', '1.5 s', '1 min 1 s']);
  const now = 1_000_000_000_000;
  assert.deepEqual([0, 5 * 60_000, 3 * 3_600_000, 49 * 3_600_000].map((before) => ago(now - before, now)), ['just now', '5 min ago', '3 h ago', '2 d ago']);
});

test('the status bar: connection, question, work, load', () => {
  const link = { kind: 'connected' as const, server: { name: 'plimsoll', version: '0', build: '0', pid: 1 } };
  const view = { ...emptyView('s'), title: 'T', load: { tokens: 500, window: 1000, load: 0.5 } };
  assert.equal(statusText({ kind: 'connecting' }, undefined).text, '$(sync~spin) Plimsoll');
  assert.deepEqual(statusText({ kind: 'failed', reason: 'no program', fix: 'path' }, undefined).background, 'error');
  assert.equal(statusText(link, view).text, '$(circle-filled) Plimsoll 50%');
  assert.match(statusText(link, { ...view, shortening: true }).tooltip, /^Shortening the conversation/);
  assert.equal(statusText(link, { ...view, running: { turn: 1, step: 1 } }).text, '$(loading~spin) Plimsoll 50%');
  const asking = statusText(link, { ...view, running: { turn: 1, step: 1 }, asks: [ask({})] });
  assert.deepEqual([asking.text, asking.background], ['$(question) Plimsoll asks 50%', 'warning']);
});
