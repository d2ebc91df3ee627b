// The chat's view: gives the page its state, passes events on in batches, and does what the page asks for.

import * as vscode from 'vscode';
import type { SessionEvent } from '../protocol';
import { html } from './html';
import { PAGE_COMMANDS, type PageState, type ToHost, type ToPage } from './messages';

/** Events that come within this time are one message to the page. */
const BATCH_MS = 25;

export interface ChatViewHost {
  state(): PageState;
  hear(message: Exclude<ToHost, { type: 'ready' }>): Promise<void>;
  visible(visible: boolean): void;
}

export class ChatView implements vscode.WebviewViewProvider, vscode.Disposable {
  static readonly id = 'plimsoll.chat';
  private view: vscode.WebviewView | undefined;
  private ready = false;
  private events: SessionEvent[] = [];
  private timer: NodeJS.Timeout | undefined;
  /** What is said before the page is there. */
  private later: ToPage[] = [];

  constructor(
    private readonly extensionUri: vscode.Uri,
    private readonly host: ChatViewHost,
  ) {}

  get visible(): boolean {
    return this.view?.visible ?? false;
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    const dist = vscode.Uri.joinPath(this.extensionUri, 'dist');
    this.view = view;
    this.ready = false;
    view.webview.options = { enableScripts: true, enableForms: false, localResourceRoots: [dist] };
    // These end with the view.
    view.webview.onDidReceiveMessage((message: ToHost) => this.hear(message));
    view.onDidChangeVisibility(() => this.host.visible(view.visible));
    view.onDidDispose(() => {
      if (this.view !== view) return;
      this.view = undefined;
      this.ready = false;
      this.host.visible(false);
    });
    view.webview.html = html(view.webview, dist);
    this.host.visible(view.visible);
  }

  /** The page's whole state, anew. */
  refresh(): void {
    this.events = [];
    this.post({ type: 'state', state: this.host.state() });
  }

  add(events: readonly SessionEvent[]): void {
    if (!this.ready) return;
    this.events.push(...events);
    this.timer ??= setTimeout(() => this.flush(), BATCH_MS);
  }

  /** Changes to what is not the view of the session. */
  patch(message: Extract<ToPage, { type: 'patch' | 'lines' }>): void {
    this.post(message);
  }

  /** For the prompt box; kept until the page is there. */
  whenThere(message: Extract<ToPage, { type: 'attach' | 'draft' | 'focus' }>): void {
    if (this.ready) this.post(message);
    else this.later.push(message);
  }

  async reveal(): Promise<void> {
    await vscode.commands.executeCommand(`${ChatView.id}.focus`);
  }

  dispose(): void {
    clearTimeout(this.timer);
  }

  private hear(message: ToHost): void {
    if (message.type === 'ready') {
      this.ready = true;
      this.refresh();
      for (const waiting of this.later.splice(0)) this.post(waiting);
      return;
    }
    if (message.type === 'run' && !PAGE_COMMANDS.includes(message.command)) return;
    void this.host.hear(message);
  }

  private flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const events = this.events.splice(0);
    if (events.length > 0) void this.view?.webview.postMessage({ type: 'events', events } satisfies ToPage);
  }

  private post(message: ToPage): void {
    if (!this.ready) return;
    // In the order in which things happened.
    this.flush();
    void this.view?.webview.postMessage(message);
  }
}
