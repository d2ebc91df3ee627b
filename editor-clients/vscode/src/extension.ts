// Puts the parts together: the chat's client on the daemon, its view, the status bar, the commands.

import fs from 'node:fs';
import * as vscode from 'vscode';
import { findProgram } from './binary';
import { startBridge, type Bridge } from './client/bridge';
import { Chat, type Kept } from './client/chat';
import type { LinkState } from './client/link';
import { ChatView } from './chat/chatView';
import type { PageState, ToHost } from './chat/messages';
import { DiffView } from './diffView';
import { EditorState, selectedLines } from './editorState';
import { target } from './links';
import { Keys } from './keys';
import { pickKey, pickMode, pickModel, pickSession } from './picks';
import { Status } from './status';
import type { SessionView } from './model/view';
import type { SessionInfo } from './protocol';

const KEPT = 'plimsoll.kept';

let running: Extension | undefined;

export function activate(context: vscode.ExtensionContext): void {
  running = new Extension(context);
}

/** Waits until the bridge has ended, so that no process is left behind. */
export async function deactivate(): Promise<void> {
  await running?.end();
  running = undefined;
}

class Extension {
  private readonly log = vscode.window.createOutputChannel('Plimsoll', { log: true });
  private readonly status = new Status();
  private readonly diffs = new DiffView();
  private readonly chatView: ChatView;
  private readonly keys: Keys;
  private chat: Chat | undefined;
  private roots: string[] = [];
  /** The question that a notification was shown for. */
  private notified = '';
  private toldFailure = '';

  constructor(private readonly context: vscode.ExtensionContext) {
    this.keys = new Keys(context);
    this.chatView = new ChatView(context.extensionUri, {
      state: () => this.pageState(),
      hear: (message) => this.guarded(() => this.hear(message)),
      visible: () => this.announce(),
    });
    context.subscriptions.push(
      this.log,
      this.status,
      this.diffs,
      this.chatView,
      vscode.window.registerWebviewViewProvider(ChatView.id, this.chatView),
      new EditorState(
        () => setting<boolean>('shareEditorState', true),
        (files) => void this.chat?.editorState(files),
      ),
      vscode.workspace.onDidChangeWorkspaceFolders(() => void this.guarded(() => this.begin())),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration('plimsoll.path')) void this.guarded(() => this.begin());
        if (event.affectsConfiguration('plimsoll.whileRunning')) {
          this.chatView.patch({ type: 'patch', patch: { whileRunning: this.pageState().whileRunning } });
        }
      }),
      ...this.commands(),
    );
    void this.guarded(() => this.begin());
  }

  async end(): Promise<void> {
    await this.chat?.stop();
  }

  private commands(): vscode.Disposable[] {
    const command = (name: string, run: (chat: Chat) => Promise<void>): vscode.Disposable =>
      vscode.commands.registerCommand(`plimsoll.${name}`, () =>
        this.guarded(async () => {
          if (this.chat) return run(this.chat);
          const choice = await vscode.window.showInformationMessage('Plimsoll works on a folder. Open one first.', 'Open Folder');
          if (choice) await vscode.commands.executeCommand('workbench.action.files.openFolder');
        }),
      );
    const always = (name: string, run: () => Promise<void>): vscode.Disposable =>
      vscode.commands.registerCommand(`plimsoll.${name}`, () => this.guarded(run));
    return [
      always('focus', async () => {
        await this.chatView.reveal();
        this.chatView.whenThere({ type: 'focus', what: this.chat?.view?.asks.length ? 'question' : 'prompt' });
      }),
      always('showLog', async () => this.log.show(true)),
      command('newSession', async (chat) => {
        await chat.fresh();
        await this.chatView.reveal();
        this.chatView.whenThere({ type: 'focus', what: 'prompt' });
      }),
      command('sessions', (chat) => this.sessions(chat)),
      command('compact', async (chat) => {
        const { view } = chat;
        if (view) await chat.compact(view.session);
      }),
      command('renameSession', async (chat) => {
        const { view } = chat;
        if (view) await this.rename(chat, view.session, view.title);
      }),
      command('deleteSession', async (chat) => {
        const { view } = chat;
        if (view) await this.delete(chat, view.session, view.title);
      }),
      command('setMode', async (chat) => {
        const mode = await pickMode(chat.view?.mode);
        if (mode) await chat.setMode(mode);
      }),
      command('setModel', async (chat) => {
        const model = await pickModel(chat.view?.model, () => chat.models());
        if (model) await chat.setModel(model);
      }),
      command('setKey', async (chat) => {
        const chosen = await pickKey(() => chat.providers());
        if (!chosen) return;
        await this.keys.set(chosen.provider, chosen.key);
        await chat.setKey(chosen.provider, chosen.key === '' ? null : chosen.key);
      }),
      command('stop', (chat) => chat.cancel()),
      command('allowOnce', (chat) => this.answer(chat, 'allowOnce')),
      command('reject', (chat) => this.answer(chat, 'reject')),
      command('reconnect', async (chat) => chat.link.restart()),
      command('addSelection', () => this.addSelection()),
    ];
  }

  /** Connects for the folders that are open now; what was there before ends. */
  private async begin(): Promise<void> {
    const before = this.chat;
    this.chat = undefined;
    await before?.stop();
    const folders = (vscode.workspace.workspaceFolders ?? []).filter(({ uri }) => uri.scheme === 'file');
    const [first, ...others] = folders.map(({ uri }) => uri.fsPath);
    this.roots = first === undefined ? [] : [first, ...others];
    if (first !== undefined) {
      const chat: Chat = new Chat(
        {
          start: () => this.startBridge(first),
          clientInfo: { name: 'plimsoll.vscode', version: String(this.context.extension.packageJSON.version) },
          roots: [first, ...others],
          kept: this.context.workspaceState.get<Kept>(KEPT) ?? { pending: [] },
          keys: () => this.keys.all(),
          log: (line) => this.log.debug(line),
        },
        {
          onView: () => {
            this.chatView.refresh();
            this.announce();
          },
          onEvents: (_, events) => {
            this.chatView.add(events);
            this.announce();
          },
          onLink: (link) => this.linkChanged(link),
          onPending: (pending) => this.chatView.patch({ type: 'patch', patch: { pending } }),
          onLines: (lines) => this.chatView.patch({ type: 'lines', lines: lines ?? null }),
          onReturned: ({ text, attachments }) => this.chatView.whenThere({ type: 'draft', text, attachments }),
          onSay: (message, serious, kind) => void this.say(message, serious, kind),
          onKept: (kept) => void this.context.workspaceState.update(KEPT, kept),
        },
      );
      this.chat = chat;
      chat.start();
    }
    this.chatView.refresh();
    this.announce();
  }

  private async say(message: string, serious: boolean, kind: string | undefined): Promise<void> {
    if (!serious) await vscode.window.showInformationMessage(message);
    else if (kind !== 'authRequired') await vscode.window.showErrorMessage(message);
    else if (await vscode.window.showErrorMessage(message, 'Set Key')) await vscode.commands.executeCommand('plimsoll.setKey');
  }

  private startBridge(cwd: string): Bridge {
    const wanted = setting('path', 'plimsoll');
    const program = findProgram(wanted);
    this.log.info(`starting ${program ?? wanted} stdio`);
    return startBridge({
      // Not found: the system says so in its own words, and the link ends as failed.
      program: program ?? wanted,
      ...(fs.existsSync(cwd) ? { cwd } : {}),
      log: (line) => this.log.warn(line),
    });
  }

  private linkChanged(link: LinkState): void {
    this.log.info(link.kind === 'connected' ? `connected to ${link.server.name} ${link.server.build}` : `connection: ${link.kind}`);
    this.chatView.patch({ type: 'patch', patch: { link: this.explained(link) } });
    this.announce();
    if (link.kind !== 'failed') {
      this.toldFailure = '';
      return;
    }
    const { reason } = this.explained(link) as typeof link;
    if (reason === this.toldFailure) return;
    this.toldFailure = reason;
    void vscode.window.showErrorMessage(reason, 'Open Settings', 'Try Again').then((choice) => {
      if (choice === 'Open Settings') void this.run('openSettings');
      if (choice === 'Try Again') this.chat?.link.retry();
    });
  }

  /** The state of the connection with a reason that says what to do. */
  private explained(link: LinkState): LinkState {
    if (link.kind !== 'failed' || link.fix !== 'path') return link;
    const wanted = setting('path', 'plimsoll');
    const reason =
      link.reason === 'ENOENT'
        ? `The program “${wanted}” was not found. Install Plimsoll, or set “plimsoll.path” to its absolute path.`
        : `The program “${wanted}” cannot be started (${link.reason}). Set “plimsoll.path” to the plimsoll program.`;
    return { ...link, reason };
  }

  private pageState(): PageState {
    const { chat } = this;
    const [folder] = this.roots;
    return {
      link: this.explained(chat?.link.state ?? { kind: 'stopped' }),
      ...(folder === undefined ? {} : { folder: folder.split(/[\\/]/).at(-1) ?? folder }),
      ...(chat?.view ? { view: chat.view } : {}),
      pending: chat?.pending ?? [],
      ...(chat?.lines ? { lines: chat.lines } : {}),
      whileRunning: setting<'queue' | 'steer'>('whileRunning', 'queue'),
    };
  }

  /** Status bar, context keys, and a notification for a question that nobody sees. */
  private announce(): void {
    const view: SessionView | undefined = this.chat?.view;
    this.status.show(this.explained(this.chat?.link.state ?? { kind: 'stopped' }), view);
    this.setContext('plimsoll.running', view?.running !== undefined);
    this.setContext('plimsoll.asking', (view?.asks.length ?? 0) > 0);
    const [ask] = view?.asks ?? [];
    if (!ask || !view || this.chatView.visible || this.notified === `${view.session} ${ask.id}`) return;
    this.notified = `${view.session} ${ask.id}`;
    void vscode.window.showInformationMessage(`Plimsoll asks: ${ask.title}`, 'Show').then((choice) => {
      if (choice) void vscode.commands.executeCommand('plimsoll.focus');
    });
  }

  private readonly contextKeys = new Map<string, boolean>();

  private setContext(key: string, value: boolean): void {
    if (this.contextKeys.get(key) === value) return;
    this.contextKeys.set(key, value);
    void vscode.commands.executeCommand('setContext', key, value);
  }

  private async hear(message: Exclude<ToHost, { type: 'ready' }>): Promise<void> {
    const { chat } = this;
    switch (message.type) {
      case 'prompt':
        return chat?.prompt(message.text, message.how, message.attachments);
      case 'takeBack':
        return chat?.takeBack(message.key);
      case 'stop':
        return chat?.cancel();
      case 'respond':
        return chat?.respond(message.ask, message.choice, message.advice);
      case 'openLink':
        return this.follow(message.href);
      case 'openFile':
        return this.openFile(target(message.path, this.roots[0]), message.line);
      case 'openDiff':
        return this.diffs.open(message.path, message.diff);
      case 'copy':
        return vscode.env.clipboard.writeText(message.text);
      case 'run':
        return this.run(message.command);
    }
  }

  private async run(command: string): Promise<void> {
    if (command === 'openSettings') await vscode.commands.executeCommand('workbench.action.openSettings', 'plimsoll.');
    else if (command === 'openFolder') await vscode.commands.executeCommand('workbench.action.files.openFolder');
    else await vscode.commands.executeCommand(`plimsoll.${command}`);
  }

  private async follow(href: string): Promise<void> {
    const to = target(href, this.roots[0]);
    if (to.kind === 'file') return this.openFile(to);
    if (to.kind === 'refused') {
      void vscode.window.showWarningMessage(to.reason, { modal: false, detail: href });
      return;
    }
    if (to.kind === 'ask') {
      const detail = `A “${to.scheme}:” link starts another program.\n\n${to.href}`;
      const choice = await vscode.window.showWarningMessage('Open this link?', { modal: true, detail }, 'Open');
      if (choice !== 'Open') return;
    }
    // The editor asks about hosts that the user does not trust.
    await vscode.env.openExternal(vscode.Uri.parse(to.href, true));
  }

  private async openFile(to: ReturnType<typeof target>, at?: number): Promise<void> {
    if (to.kind !== 'file') return;
    const line = at ?? to.line;
    const place = line === undefined ? undefined : new vscode.Range(line - 1, 0, line - 1, 0);
    await vscode.window.showTextDocument(vscode.Uri.file(to.path), { preview: true, ...(place ? { selection: place } : {}) });
  }

  private async sessions(chat: Chat): Promise<void> {
    const chosen = await pickSession(chat.view?.session, {
      list: () => chat.sessions(),
      rename: (info) => this.rename(chat, info.id, info.title),
      delete: (info) => this.delete(chat, info.id, info.title),
    });
    if (chosen === 'new') await vscode.commands.executeCommand('plimsoll.newSession');
    else if (chosen) await chat.open(chosen satisfies SessionInfo);
  }

  private async rename(chat: Chat, session: string, title: string): Promise<void> {
    const wanted = await vscode.window.showInputBox({
      prompt: 'Title of the session',
      value: title,
      validateInput: (text) => (text.trim() === '' ? 'A title is not blank.' : undefined),
    });
    if (wanted !== undefined && wanted !== title) await chat.rename(session, wanted.trim());
  }

  private async delete(chat: Chat, session: string, title: string): Promise<void> {
    const detail = 'Its conversation and everything that was stored with it are deleted. Files of the project stay as they are.';
    const choice = await vscode.window.showWarningMessage(`Delete “${title || 'Untitled'}”?`, { modal: true, detail }, 'Delete');
    if (choice === 'Delete') await chat.delete(session);
  }

  private async answer(chat: Chat, choice: string): Promise<void> {
    const [ask] = chat.view?.asks ?? [];
    if (ask) await chat.respond(ask.id, choice, undefined);
  }

  private async addSelection(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (!editor || editor.document.uri.scheme !== 'file') return;
    const { document, selection } = editor;
    const path = document.uri.fsPath;
    const lines = selection.isEmpty ? undefined : selectedLines(selection);
    // What is not saved is not on the disk, where the daemon reads.
    if (document.isDirty) {
      const name = lines ? `${path}:${lines.start}-${lines.end} (unsaved)` : `${path} (unsaved)`;
      const text = document.getText(selection.isEmpty ? undefined : selection);
      this.chatView.whenThere({ type: 'attach', attachment: { kind: 'text', name, text } });
    } else {
      this.chatView.whenThere({ type: 'attach', attachment: { kind: 'file', path, ...(lines ? { lines } : {}) } });
    }
    await vscode.commands.executeCommand('plimsoll.focus');
  }

  /** Runs something that the user asked for; a failure is told and logged. */
  private async guarded(run: () => Promise<void> | void): Promise<void> {
    try {
      await run();
    } catch (error) {
      this.log.error(error as Error);
      const { message, hint } = error as Error & { hint?: string };
      void vscode.window.showErrorMessage(`Plimsoll: ${message}${hint ? ` — ${hint}` : ''}`);
    }
  }
}

function setting<T>(name: string, otherwise: T): T {
  return vscode.workspace.getConfiguration('plimsoll').get<T>(name) ?? otherwise;
}
