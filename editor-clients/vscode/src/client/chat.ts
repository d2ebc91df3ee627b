// One conversation at a time: follows a session by its events, keeps the view, and does what the user asks for. Knows no
// editor; extension.ts gives it one.

import { randomUUID } from 'node:crypto';
import { emptyView, type SessionView } from '../model/view';
import { advance, own, withInfo, withoutStreams, type OwnView } from '../model/reduce';
import type { Attachment, EditorFile, ModelInfo, Project, ProviderKey, SessionEvent, SessionInfo } from '../protocol';
import type { Bridge } from './bridge';
import { Disconnected, Link, Refused, type Connection, type LinkState } from './link';

/** More than this many sessions are not listed: nobody looks through them. */
const MOST_SESSIONS = 2_000;

/** A prompt that the conversation does not show yet. */
export interface Pending {
  /** Its idempotency key. */
  key: string;
  text: string;
  how: 'start' | 'steer';
  attachments: Attachment[];
  /** `sending` until the daemon has it; `accepted` until its item comes. */
  state: 'sending' | 'accepted';
  /** The session that it was meant for; absent: one that is to be made. */
  session?: string;
  /** The turn that it will be, once that is known. */
  turn?: number;
}

/** What outlives the editor. */
export interface Kept {
  session?: string;
  pending: Pending[];
}

export interface ChatOptions {
  start(): Bridge;
  clientInfo: { name: string; version: string };
  /** The workspace's folders; the first names the project. */
  roots: [string, ...string[]];
  kept: Kept;
  /** Keys of providers that the user gave to the editor; every new connection is told them. */
  keys?(): Promise<{ provider: string; key: string }[]>;
  log(line: string): void;
  /** For tests: pauses before another bridge is started. */
  pause?(ms: number): Promise<void>;
}

export interface ChatListener {
  /** The view is another one, or begins anew. */
  onView(view: SessionView | undefined): void;
  /** These events were added to the view. */
  onEvents(view: SessionView, events: readonly SessionEvent[]): void;
  onLink(state: LinkState): void;
  onPending(pending: readonly Pending[]): void;
  /** The lines of the load gauge of the session's model. */
  onLines(lines: readonly number[] | undefined): void;
  /** A prompt that could not be delivered is the user's again. */
  onReturned(prompt: Pick<Pending, 'text' | 'attachments'>): void;
  /** Something to say to the user; `kind` is that of the daemon's error. */
  onSay(message: string, serious: boolean, kind?: string): void;
  onKept(kept: Kept): void;
}

export class Chat {
  /** What is shown. It is advanced by every event; keep no part of it but entries. */
  view: SessionView | undefined;
  project: Project | undefined;
  pending: Pending[];
  lines: readonly number[] | undefined;
  readonly link: Link;
  private draft: OwnView | undefined;
  private session: string | undefined;
  private subscription: string | undefined;
  /** The session that is being made for the first prompt. */
  private making: Promise<string> | undefined;
  private editorFiles: EditorFile[] | undefined;
  /** The model whose lines are known. */
  private inspected = '';
  /** Process number of the daemon of the last connection. */
  private daemon: number | undefined;
  /** The build that waits to take over, once it was told. */
  private newer: string | undefined;
  private orphans: { keys: string[]; lastSeq: number } | undefined;

  constructor(
    private readonly options: ChatOptions,
    private readonly listener: ChatListener,
  ) {
    this.session = options.kept.session;
    // A steering text that a daemon had taken is that daemon's; a prompt shows until its turn begins.
    this.pending = options.kept.pending.filter(({ how, state }) => how === 'start' || state === 'sending');
    if (this.session) this.view = this.draft = own(emptyView(this.session));
    this.link = new Link({
      start: options.start,
      clientInfo: options.clientInfo,
      log: options.log,
      onConnected: (connection) => this.connected(connection),
      onState: (state) => listener.onLink(state),
      onNotification: (method, params) => this.notified(method, params),
      ...(options.pause ? { pause: options.pause } : {}),
    });
  }

  start(): void {
    this.link.start();
    for (const pending of this.pending.filter(({ state }) => state === 'sending')) void this.deliver(pending);
  }

  async stop(): Promise<void> {
    await this.link.stop();
  }

  /** Shows another session. */
  async open(info: SessionInfo): Promise<void> {
    if (this.session === info.id) return;
    await this.leave();
    this.show(withInfo(emptyView(info.id), info));
    await this.attach();
  }

  /** Shows an empty conversation; its session is made by the first prompt, or when something is set for it. */
  async fresh(): Promise<void> {
    await this.leave();
    this.show(undefined);
  }

  /** Makes a session and shows it, unless one is shown. */
  async ensureSession(): Promise<string> {
    if (this.session) return this.session;
    this.making ??= this.make().finally(() => (this.making = undefined));
    return this.making;
  }

  async sessions(): Promise<SessionInfo[]> {
    const project = this.project?.key;
    if (!project) throw new Disconnected('Plimsoll is not connected');
    const found: SessionInfo[] = [];
    let cursor: string | null | undefined;
    do {
      const params = { project, limit: 500, ...(cursor ? { cursor } : {}) };
      const { sessions, nextCursor } = await this.link.call('session/list', params, 'never');
      found.push(...sessions);
      cursor = nextCursor;
    } while (cursor && found.length < MOST_SESSIONS);
    return found;
  }

  /** Has the conversation shortened for the model; its end is a notice in it. */
  async compact(session: string): Promise<void> {
    await this.link.call('context/compact', { session, idempotencyKey: randomUUID() }, 'always');
  }

  async rename(session: string, title: string): Promise<void> {
    await this.link.call('session/rename', { session, title, idempotencyKey: randomUUID() }, 'always');
  }

  async delete(session: string): Promise<void> {
    if (session === this.session) await this.fresh();
    await this.link.call('session/delete', { session, idempotencyKey: randomUUID() }, 'always');
  }

  async setMode(mode: string): Promise<void> {
    const session = await this.ensureSession();
    const info = await this.link.call('session/setMode', { session, mode, idempotencyKey: randomUUID() }, 'always');
    // The event may be late; the answer is as true.
    if (this.view?.session === session) this.changed(withInfo(this.view, info));
  }

  async models(): Promise<{ models: ModelInfo[]; default: string }> {
    if (!this.project) throw new Disconnected('Plimsoll is not connected');
    return this.link.call('model/list', { project: this.project.key }, 'never');
  }

  async setModel(model: string): Promise<void> {
    const session = await this.ensureSession();
    const info = await this.link.call('session/setModel', { session, model, idempotencyKey: randomUUID() }, 'always');
    if (this.view?.session === session) this.changed(withInfo(this.view, info));
  }

  /** Where the keys of the providers are. */
  async providers(): Promise<ProviderKey[]> {
    return (await this.link.call('auth/status', {}, 'never')).providers;
  }

  /** Gives the daemon a key for what this client starts from now on, or forgets it. */
  async setKey(provider: string, key: string | null): Promise<void> {
    await this.link.call('auth/set', { provider, key, idempotencyKey: randomUUID() }, 'never');
  }

  /** Sends a prompt. It is shown as pending until the conversation has it, also over a reconnect or a restart of the editor. */
  prompt(text: string, how: 'start' | 'steer', attachments: Attachment[]): void {
    const pending: Pending = {
      key: randomUUID(),
      text,
      how,
      attachments,
      state: 'sending',
      ...(this.session ? { session: this.session } : {}),
    };
    this.setPending([...this.pending, pending]);
    void this.deliver(pending);
  }

  /** Takes a prompt back that the daemon does not have yet. */
  takeBack(key: string): void {
    this.giveBack((pending) => pending.key === key && pending.state === 'sending');
  }

  async cancel(): Promise<void> {
    if (!this.session) return;
    await this.link.call('turn/cancel', { session: this.session, idempotencyKey: randomUUID() }, 'never');
  }

  async respond(ask: string, choice: string, advice: string | undefined): Promise<void> {
    const session = this.session;
    const offered = this.view?.asks.find(({ id }) => id === ask)?.options.find(({ kind }) => kind === choice);
    if (!session || !offered) return;
    try {
      const params = {
        session,
        ask,
        choice: offered.kind as 'allowOnce' | 'allowSession' | 'allowAlways' | 'reject',
        idempotencyKey: randomUUID(),
        ...(advice ? { advice } : {}),
      };
      const { accepted } = await this.link.call('permission/respond', params, 'always');
      if (!accepted) this.listener.onSay('Another answer came first.', false);
    } catch (error) {
      if (error instanceof Refused && error.kind === 'conflict') this.listener.onSay('This question is no longer open.', false);
      else throw error;
    }
  }

  /** Tells the daemon what the editor shows. Kept, for the next connection. */
  async editorState(files: EditorFile[]): Promise<void> {
    this.editorFiles = files;
    if (this.link.state.kind !== 'connected' || !this.project) return;
    try {
      await this.link.call('editor/state', { project: this.project.key, files }, 'never');
    } catch (error) {
      // The next connection is told.
      this.options.log(`editor/state: ${(error as Error).message}`);
    }
  }

  private async connected(connection: Connection): Promise<void> {
    this.subscription = undefined;
    await this.tellKeys(connection);
    this.project = await connection.request('project/open', { roots: this.options.roots });
    if (this.session) await this.attachOn(connection);
    if (this.editorFiles) {
      await connection.request('editor/state', { project: this.project.key, files: this.editorFiles });
    }
    const anew = this.daemon !== undefined && this.daemon !== connection.server.pid;
    this.daemon = connection.server.pid;
    const orphans = this.pending.filter(({ how, state, session }) => how === 'steer' && state === 'accepted' && session === this.session);
    if (!anew || !this.session || orphans.length === 0) return;
    // Steering texts that the daemon before had taken. Those that it had not put into the conversation are gone with it;
    // which they are is known once everything that was missed has come.
    const { lastSeq } = await connection.request('session/get', { session: this.session });
    this.orphans = { keys: orphans.map(({ key }) => key), lastSeq };
    this.returnOrphans();
  }

  private async tellKeys(connection: Connection): Promise<void> {
    let keys: { provider: string; key: string }[] = [];
    try {
      keys = (await this.options.keys?.()) ?? [];
    } catch (error) {
      // Such as a key ring that is locked: turns that need a key say so.
      this.options.log(`keys cannot be read: ${(error as Error).message}`);
    }
    for (const { provider, key } of keys) {
      try {
        await connection.request('auth/set', { provider, key, idempotencyKey: randomUUID() });
      } catch (error) {
        // Such as a provider that is no longer configured, or a daemon that does not have the method: turns say what is missing.
        if (error instanceof Disconnected) throw error;
        this.options.log(`the key of ${provider} was not taken: ${(error as Error).message}`);
      }
    }
  }

  private returnOrphans(): void {
    if (!this.orphans || (this.view?.seq ?? 0) < this.orphans.lastSeq) return;
    const { keys } = this.orphans;
    this.orphans = undefined;
    this.giveBack(({ key }) => keys.includes(key));
  }

  /** Follows the shown session on the present connection. */
  private async attach(): Promise<void> {
    if (this.link.state.kind !== 'connected') return;
    const { server } = this.link.state;
    try {
      await this.attachOn({ server, request: (method, params) => this.link.call(method, params, 'never') });
    } catch (error) {
      // The next connection attaches.
      if (!(error instanceof Disconnected)) throw error;
    }
  }

  private async attachOn(connection: Connection): Promise<void> {
    const session = this.session;
    if (!session) return;
    // What was streamed comes again, from its beginning.
    if (this.view) this.changed(withoutStreams(this.view));
    try {
      const subscription = await connection.request('session/attach', { session, after: this.view?.seq ?? 0 });
      // Another one may have been opened meanwhile.
      if (this.session === session) this.subscription = subscription;
    } catch (error) {
      if (!(error instanceof Refused) || error.kind !== 'notFound') throw error;
      this.listener.onSay('The session that was shown here does not exist any more.', false);
      if (this.session === session) this.show(undefined);
    }
  }

  private async leave(): Promise<void> {
    const subscription = this.subscription;
    this.subscription = undefined;
    this.session = undefined;
    if (!subscription || this.link.state.kind !== 'connected') return;
    // Whether it worked does not matter: events of a subscription that is not followed are dropped.
    await this.link.call('session/detach', { subscription }, 'never').catch(() => undefined);
  }

  private async make(): Promise<string> {
    const idempotencyKey = randomUUID();
    const project = this.project ?? (await this.link.call('project/open', { roots: this.options.roots }, 'always'));
    const info = await this.link.call('session/create', { project: project.key, idempotencyKey }, 'always');
    this.show(withInfo(emptyView(info.id), info));
    await this.attach();
    return info.id;
  }

  private async deliver(pending: Pending): Promise<void> {
    const { key, text, attachments } = pending;
    try {
      await this.link.ready();
      // It may have been taken back meanwhile.
      if (!this.pending.some((known) => known.key === key)) return;
      const session = pending.session ?? (await this.ensureSession());
      if (pending.how === 'steer') {
        await this.link.call('turn/steer', { session, text, idempotencyKey: key }, 'sameDaemon');
        this.settle(key, { state: 'accepted', session });
      } else {
        const params = { session, text, idempotencyKey: key, ...(attachments.length > 0 ? { attachments } : {}) };
        const { turn } = await this.link.call('turn/start', params, 'always');
        this.settle(key, { state: 'accepted', session, turn });
      }
    } catch (error) {
      if (error instanceof Disconnected && this.link.state.kind === 'stopped') return;
      this.giveBack((known) => known.key === key);
      const { hint, kind } = error instanceof Refused ? error : {};
      this.listener.onSay(`The prompt was not sent: ${(error as Error).message}${hint ? ` — ${hint}` : ''}`, true, kind);
    }
  }

  private notified(method: string, params: unknown): void {
    if (method !== 'session/event') return;
    const { subscription, result } = params as { subscription: string; result: SessionEvent };
    if (subscription !== this.subscription || !this.draft || result.session !== this.session) return;
    if (result.type === 'closed') {
      this.options.log(`the subscription has ended: ${result.message}`);
      this.subscription = undefined;
      if (result.reason === 'daemonStopped') this.link.daemonStopped();
      // The next connection attaches.
      if (result.reason === 'daemonStopped' || result.reason === 'daemonEnds') return;
      void this.attach().catch((error: Error) => this.options.log(`session/attach: ${error.message}`));
      return;
    }
    if (result.type === 'restartPending') {
      const build = result.build ?? 'replaced on the disk';
      if (this.newer !== build) this.listener.onSay(`A newer Plimsoll (${build}) takes over as soon as nothing runs.`, false);
      this.newer = build;
      return;
    }
    advance(this.draft, [result]);
    this.listener.onEvents(this.draft, [result]);
    this.follow(result);
  }

  /** What the client itself does about an event. */
  private follow(event: SessionEvent): void {
    const view = this.view;
    if (!view) return;
    if (event.type === 'itemAdded' && event.item.kind === 'user') {
      const { turn, text } = event.item;
      const shown = this.pending.find(
        (pending) =>
          pending.session === view.session && (pending.turn === turn || (pending.turn === undefined && pending.text === text)),
      );
      if (shown) this.setPending(this.pending.filter((pending) => pending !== shown));
    }
    this.returnOrphans();
    if (event.type === 'turnCompleted') void this.inspect();
    if (view.deleted) {
      this.listener.onSay('This session was deleted.', false);
      void this.fresh();
    }
  }

  /** Learns the lines of the gauge, once for each model that the session uses. */
  private async inspect(): Promise<void> {
    const view = this.view;
    if (!view || this.inspected === view.model) return;
    this.inspected = view.model;
    try {
      const { window } = await this.link.call('context/inspect', { session: view.session }, 'never');
      this.lines = window.lines;
      this.listener.onLines(this.lines);
    } catch (error) {
      // The gauge has no lines then, and the next turn asks again.
      this.inspected = '';
      this.options.log(`context/inspect: ${(error as Error).message}`);
    }
  }

  private settle(key: string, known: Partial<Pending>): void {
    const pending = this.pending.find((one) => one.key === key);
    if (!pending) return;
    const { turn } = known;
    // The item may have come before the answer.
    const shown = this.view?.entries.some((entry) => entry.kind === 'user' && entry.turn === turn && !entry.steering);
    this.setPending(
      shown ? this.pending.filter((one) => one.key !== key) : this.pending.map((one) => (one.key === key ? { ...one, ...known } : one)),
    );
  }

  /** Puts texts that will not arrive back into the user's hands. */
  private giveBack(which: (pending: Pending) => boolean): void {
    const back = this.pending.filter(which);
    if (back.length === 0) return;
    this.setPending(this.pending.filter((pending) => !which(pending)));
    for (const prompt of back) this.listener.onReturned(prompt);
  }

  private setPending(pending: Pending[]): void {
    this.pending = pending;
    this.listener.onPending(pending);
    this.keep();
  }

  private show(view: SessionView | undefined): void {
    this.session = view?.session;
    this.lines = undefined;
    this.inspected = '';
    this.changed(view);
    this.listener.onLines(undefined);
    this.keep();
  }

  private changed(view: SessionView | undefined): void {
    this.draft = view && own(view);
    this.view = this.draft;
    this.listener.onView(this.draft);
  }

  private keep(): void {
    this.listener.onKept({ ...(this.session ? { session: this.session } : {}), pending: this.pending });
  }
}
