// The extension in a fake editor, with an exchange of ../conformance in the place of the daemon.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test from 'node:test';
import { EventEmitter, TabInputText, Uri, window, workspace, world } from '../support/vscode';
import { EditorState, selectedLines } from '../../src/editorState';
import type { ToHost, ToPage } from '../../src/chat/messages';
import { activate, deactivate } from '../../src/extension';
import { Keys } from '../../src/keys';
import { reduce } from '../../src/model/reduce';
import type { EditorFile } from '../../src/protocol';

const manifest = JSON.parse(fs.readFileSync('package.json', 'utf8')) as {
  version: string;
  contributes: {
    commands: { command: string }[];
    menus: Record<string, { command: string }[]>;
    keybindings: { command: string }[];
    configuration: { properties: Record<string, { scope?: string; default: unknown }> };
  };
};

function context(): { subscriptions: { dispose(): void }[]; kept: Map<string, unknown> } & Record<string, unknown> {
  const kept = new Map<string, unknown>();
  return {
    kept,
    subscriptions: [],
    extensionUri: Uri.file('/extension'),
    extension: { packageJSON: manifest },
    secrets: { get: async (key: string) => kept.get(key), store: async (key: string, value: string) => void kept.set(key, value), delete: async (key: string) => void kept.delete(key) },
    globalState: { get: (key: string) => kept.get(key), update: async (key: string, value: unknown) => void kept.set(key, value) },
    workspaceState: {
      get: (key: string) => kept.get(key),
      update: async (key: string, value: unknown) => void kept.set(key, value),
    },
  };
}

/** A page: keeps the state by the same rules as the real one. */
class Page {
  private readonly toHost = new EventEmitter<ToHost>();
  private waiting: (() => void)[] = [];
  state: Extract<ToPage, { type: 'state' }>['state'] | undefined;
  html = '';
  readonly view = {
    visible: true,
    onDidChangeVisibility: new EventEmitter<void>().event,
    onDidDispose: new EventEmitter<void>().event,
    webview: {
      cspSource: 'https://extension.example',
      options: {},
      html: '',
      asWebviewUri: (uri: Uri) => uri,
      onDidReceiveMessage: this.toHost.event,
      postMessage: async (message: ToPage) => {
        this.hear(structuredClone(message));
        return true;
      },
    },
  };

  say(message: ToHost): void {
    this.toHost.fire(message);
  }

  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise<void>((resolve) => this.waiting.push(resolve));
  }

  private hear(message: ToPage): void {
    if (message.type === 'state') this.state = message.state;
    else if (message.type === 'events' && this.state?.view) this.state = { ...this.state, view: reduce(this.state.view, message.events) };
    else if (message.type === 'patch' && this.state) this.state = { ...this.state, ...message.patch };
    for (const waiter of this.waiting.splice(0)) waiter();
  }
}

test('the manifest and the code name the same commands', () => {
  const { contributes } = manifest;
  const named = contributes.commands.map(({ command }) => command);
  const one = context();
  activate(one as never);
  assert.deepEqual([...world.commands.keys()].sort(), [...named].sort());
  const used = [...Object.values(contributes.menus).flat(), ...contributes.keybindings].map(({ command }) => command);
  assert.deepEqual(used.filter((command) => !named.includes(command)), []);
  assert.equal(contributes.configuration.properties['plimsoll.path']?.scope, 'machine-overridable');
});

test('everything that was made is disposed of, and listens to nothing afterwards', async () => {
  const before = [world.tabsChanged.count, world.configured.count];
  const one = context();
  activate(one as never);
  assert.ok(world.tabsChanged.count > (before[0] ?? 0));
  const disposed = world.disposed;
  for (const each of one.subscriptions) each.dispose();
  await deactivate();
  assert.deepEqual([world.tabsChanged.count, world.configured.count], before);
  // Log, status bar, view provider, provider of texts, and every command.
  assert.equal(world.disposed - disposed, 4 + manifest.contributes.commands.length);
});

test('a page is given its state and its events, under a strict policy', { skip: !fs.existsSync('../conformance') && 'there is no ../conformance' }, async (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'plimsoll-extension-'));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  process.env['PLIMSOLL_CONFORMANCE_CASE'] = 'happy_path';
  process.env['PLIMSOLL_CONFORMANCE_STATE'] = path.join(folder, 'state.json');
  world.settings = { path: path.resolve('../conformance/serve.mjs'), shareEditorState: false };
  workspace.workspaceFolders = [{ uri: Uri.file('/home/u/app') }];
  const one = context();
  activate(one as never);
  const page = new Page();
  world.provider?.resolveWebviewView(page.view);
  const html = page.view.webview.html;
  const policy = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(html)?.[1] ?? '';
  const nonce = /script-src 'nonce-([^']+)'/.exec(policy)?.[1] ?? '';
  assert.ok(nonce.length >= 16);
  assert.deepEqual(policy.split('; '), [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    'style-src https://extension.example',
    'font-src https://extension.example',
    "base-uri 'none'",
    "form-action 'none'",
  ]);
  assert.deepEqual([...html.matchAll(/<script[^>]*>/g)].map(([tag]) => tag.includes(`nonce="${nonce}"`)), [true]);
  assert.ok(!/ style=| on\w+=/.test(html));

  page.say({ type: 'ready' });
  await page.until(() => page.state?.link.kind === 'connected');
  page.say({ type: 'prompt', text: 'What does a.txt say?', how: 'start', attachments: [] });
  await page.until(() => page.state?.view?.entries.at(-1)?.kind === 'end');
  assert.deepEqual(
    page.state?.view?.entries.map(({ kind }) => kind),
    ['user', 'tool', 'assistant', 'end'],
  );
  await page.until(() => page.state?.pending.length === 0);
  // Another page is told the same at once, whole.
  const second = new Page();
  world.provider?.resolveWebviewView(second.view);
  second.say({ type: 'ready' });
  assert.deepEqual(second.state?.view, page.state?.view);
  assert.deepEqual(one.kept.get('plimsoll.kept'), { session: page.state?.view?.session, pending: [] });
  for (const each of one.subscriptions) each.dispose();
  await deactivate();
});

test('a program that is not found is said with what to do', async () => {
  world.settings = { path: '/nowhere/plimsoll' };
  workspace.workspaceFolders = [{ uri: Uri.file('/') }];
  const one = context();
  activate(one as never);
  const page = new Page();
  world.provider?.resolveWebviewView(page.view);
  page.say({ type: 'ready' });
  await page.until(() => page.state?.link.kind === 'failed');
  const reason = 'The program “/nowhere/plimsoll” was not found. Install Plimsoll, or set “plimsoll.path” to its absolute path.';
  assert.deepEqual(page.state?.link, { kind: 'failed', fix: 'path', reason });
  assert.deepEqual(world.messages, [reason]);
  for (const each of one.subscriptions) each.dispose();
  await deactivate();
});

test('the editor state is told after a pause, and only when it changed', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const told: EditorFile[][] = [];
  const document = { uri: Uri.file('/p/a.ts'), isDirty: false, lineCount: 12 };
  workspace.textDocuments = [document];
  const editor = { document, selection: { isEmpty: true, active: { line: 4 } } };
  window.activeTextEditor = editor;
  window.visibleTextEditors = [editor];
  window.tabGroups.all = [{ tabs: [{ input: new TabInputText(Uri.file('/p/b.ts')) }, { input: new TabInputText(Uri.parse('untitled:x')) }] }];
  const state = new EditorState(() => true, (files) => told.push(files));
  t.mock.timers.tick(299);
  assert.deepEqual(told, []);
  t.mock.timers.tick(1);
  const expected = [
    { path: '/p/a.ts', open: true, focused: true, unsaved: false, totalLines: 12, cursorLine: 5 },
    { path: '/p/b.ts', open: true, focused: false, unsaved: false },
  ];
  assert.deepEqual(told, [expected]);
  world.documentChanged.fire();
  t.mock.timers.tick(300);
  assert.equal(told.length, 1);
  document.isDirty = true;
  world.documentChanged.fire();
  world.documentChanged.fire();
  t.mock.timers.tick(300);
  assert.equal(told.length, 2);
  assert.equal((told as EditorFile[][])[1]?.[0]?.unsaved, true);
  state.dispose();
});

test('a selection that ends at the beginning of a line does not hold that line', () => {
  const lines = (startLine: number, endLine: number, endCharacter: number): unknown =>
    selectedLines({ start: { line: startLine, character: 0 }, end: { line: endLine, character: endCharacter } } as never);
  assert.deepEqual([lines(0, 2, 0), lines(0, 2, 1), lines(3, 3, 0)], [{ start: 1, end: 2 }, { start: 1, end: 3 }, { start: 4, end: 4 }]);
});

test('keys are kept in the secret storage, their names beside it, and an empty one is forgotten', async () => {
  const one = context();
  const keys = new Keys(one as never);
  await keys.set('a', 'secret');
  await keys.set('b', 'other');
  await keys.set('a', 'newer');
  assert.deepEqual(await keys.all(), [{ provider: 'b', key: 'other' }, { provider: 'a', key: 'newer' }]);
  assert.ok(!JSON.stringify(one.kept.get('plimsoll.keys')).includes('newer'));
  await keys.set('a', '');
  assert.deepEqual(await keys.all(), [{ provider: 'b', key: 'other' }]);
  assert.deepEqual([...one.kept.keys()].sort(), ['plimsoll.key.b', 'plimsoll.keys']);
});
