// The connection to the daemon, kept: when a bridge ends, another one is started after a pause, for as long as the editor
// runs. What a client wants done is asked by `call`, which can outlive a connection.

import { ErrorCodes, ResponseError, type MessageConnection } from 'vscode-jsonrpc/node';
import type { Method, Params, Result, ServerInfo } from '../protocol';
import type { Bridge, Ended } from './bridge';

/** The version of the native API that this client was written for. */
export const PROTOCOL_VERSION = '1.0';
/** First and longest pause before another bridge is started. */
const PAUSE_MS = { first: 250, longest: 10_000 };
/** How long a bridge may take to answer `initialize`; starting a daemon is part of it. */
const INITIALIZE_MS = 30_000;

export type LinkState =
  | { kind: 'connecting' }
  | { kind: 'connected'; server: ServerInfo }
  /** Another bridge is started after a pause. */
  | { kind: 'waiting'; reason: string }
  /** Nothing more is tried until `retry`: trying again would end the same way. */
  | { kind: 'failed'; reason: string; fix: 'path' | 'version' }
  /** Somebody stopped the daemon: it is started again by the next thing that the user wants. */
  | { kind: 'asleep' }
  | { kind: 'stopped' };

/** What becomes of a call whose connection ends before its answer. */
export type Repeat =
  /** It is made again: it has an idempotency key that outlives the daemon, or is repeatable by itself. */
  | 'always'
  /** It is made again only to the same daemon, which remembers its key. */
  | 'sameDaemon'
  | 'never';

/** The connection ended, or there is none. */
export class Disconnected extends Error {
  override name = 'Disconnected';
}

/** The daemon's answer was an error. */
export class Refused extends Error {
  override name = 'Refused';
  constructor(
    message: string,
    readonly kind: string,
    readonly hint: string | undefined,
  ) {
    super(message);
  }
}

export interface LinkOptions {
  start(): Bridge;
  clientInfo: { name: string; version: string };
  log(line: string): void;
  /** Runs on every new connection after `initialize`, before calls that wait go on. A failure ends the connection. */
  onConnected(connection: Connection): Promise<void>;
  onState(state: LinkState): void;
  /** Notifications of the connection that holds now. */
  onNotification(method: string, params: unknown): void;
  /** For tests: pauses. */
  pause?(ms: number): Promise<void>;
}

/** One connection with typed calls. */
export interface Connection {
  server: ServerInfo;
  request<M extends Method>(method: M, params: Params<M>): Promise<Result<M>>;
}

export class Link {
  state: LinkState = { kind: 'stopped' };
  private bridge: Bridge | undefined;
  private current: Connection | undefined;
  private waiters: { resolve(connection: Connection): void; reject(error: Error): void }[] = [];
  private wake: (() => void) | undefined;
  private running: Promise<void> | undefined;
  private stopping = false;
  /** The daemon of the present bridge said that somebody stops it. */
  private daemonStops = false;

  constructor(private readonly options: LinkOptions) {}

  /** Connects and stays connected. */
  start(): void {
    this.running ??= this.run();
  }

  /** Tries again now. */
  retry(): void {
    this.wake?.();
  }

  /** Lets go of the present bridge and starts another one. */
  restart(): void {
    if (this.bridge) this.bridge.end();
    else this.retry();
  }

  /** The daemon said that it ends because somebody stopped it. */
  daemonStopped(): void {
    this.daemonStops = true;
  }

  /** Ends the bridge; calls that wait fail. */
  async stop(): Promise<void> {
    this.stopping = true;
    this.bridge?.end();
    this.wake?.();
    for (const waiter of this.waiters.splice(0)) waiter.reject(new Disconnected('the editor is closing'));
    await this.running;
  }

  /** Resolves as soon as there is a connection. */
  async ready(): Promise<void> {
    await this.connected();
  }

  /** Calls a method. With `never` it fails at once when none comes by itself; else it waits for a connection. */
  async call<M extends Method>(method: M, params: Params<M>, repeat: Repeat): Promise<Result<M>> {
    let asked: ServerInfo | undefined;
    for (;;) {
      const connection = repeat === 'never' && this.state.kind !== 'asleep' ? this.current : await this.connected();
      if (!connection) throw new Disconnected('Plimsoll is not connected');
      if (asked && repeat === 'sameDaemon' && asked.pid !== connection.server.pid) {
        throw new Disconnected('the daemon ended before it answered');
      }
      asked = connection.server;
      try {
        return await connection.request(method, params);
      } catch (error) {
        if (!(error instanceof Disconnected) || repeat === 'never' || this.stopping) throw error;
        this.options.log(`${method} is asked again: ${error.message}`);
        // The process may still be on its way out; without it this would ask a dead connection over and over.
        if (this.current === connection) await this.bridge?.ended;
      }
    }
  }

  private connected(): Promise<Connection> {
    if (this.current) return Promise.resolve(this.current);
    if (this.stopping) return Promise.reject(new Disconnected('the editor is closing'));
    return new Promise((resolve, reject) => {
      this.waiters.push({ resolve, reject });
      if (this.state.kind === 'asleep') this.wake?.();
    });
  }

  private async run(): Promise<void> {
    let attempts = 0;
    while (!this.stopping) {
      this.set({ kind: 'connecting' });
      const bridge = this.options.start();
      this.bridge = bridge;
      this.daemonStops = false;
      let fault: Error | undefined;
      try {
        await this.greet(bridge);
        attempts = 0;
      } catch (error) {
        fault = error as Error;
        bridge.end();
      }
      const ended = await bridge.ended;
      this.current = undefined;
      this.bridge = undefined;
      if (this.stopping) break;
      const next: LinkState = this.daemonStops || ended.code === 5 ? { kind: 'asleep' } : verdict(ended, fault);
      this.options.log(`the bridge has ended: ${'reason' in next ? next.reason : 'somebody stopped the daemon'}`);
      this.set(next);
      if (next.kind === 'asleep') {
        attempts = 0;
        if (this.waiters.length === 0) await this.woken();
        continue;
      }
      if (next.kind === 'failed') await this.woken();
      else await Promise.race([this.woken(), this.pause(attempts)]);
      attempts += 1;
    }
    this.set({ kind: 'stopped' });
  }

  private async greet(bridge: Bridge): Promise<void> {
    const connection = new Wire(bridge.connection);
    bridge.connection.onNotification((method, params) => {
      if (this.bridge === bridge) this.options.onNotification(method, params);
    });
    bridge.connection.onError(([error]) => this.options.log(`connection: ${error.message}`));
    bridge.connection.listen();
    const answer = connection.request('initialize', {
      clientInfo: this.options.clientInfo,
      protocolVersion: PROTOCOL_VERSION,
      capabilities: {},
    });
    const { serverInfo } = await limited(answer, INITIALIZE_MS, 'the daemon does not answer');
    connection.server = serverInfo;
    await this.options.onConnected(connection);
    this.current = connection;
    this.set({ kind: 'connected', server: serverInfo });
    for (const waiter of this.waiters.splice(0)) waiter.resolve(connection);
  }

  private set(state: LinkState): void {
    this.state = state;
    this.options.onState(state);
  }

  private woken(): Promise<void> {
    return new Promise((resolve) => {
      this.wake = () => {
        this.wake = undefined;
        resolve();
      };
    });
  }

  private pause(attempts: number): Promise<void> {
    const ms = Math.min(PAUSE_MS.first * 2 ** attempts, PAUSE_MS.longest);
    return this.options.pause?.(ms) ?? new Promise((resolve) => setTimeout(resolve, ms));
  }
}

class Wire implements Connection {
  server: ServerInfo = { name: '', version: '', build: '', pid: 0 };

  constructor(private readonly connection: MessageConnection) {}

  async request<M extends Method>(method: M, params: Params<M>): Promise<Result<M>> {
    try {
      return await this.connection.sendRequest<Result<M>>(method, params);
    } catch (error) {
      throw translated(error);
    }
  }
}

/** Tells an answer that is an error from a connection that has ended. A daemon on its way out counts as the latter. */
function translated(error: unknown): Error {
  if (!(error instanceof ResponseError)) return new Disconnected(error instanceof Error ? error.message : String(error));
  if (error.code === ErrorCodes.PendingResponseRejected || error.code === ErrorCodes.ConnectionInactive) {
    return new Disconnected('the connection ended before the answer');
  }
  const data = (error.data ?? {}) as { kind?: string; hint?: string };
  if (data.kind === 'shuttingDown') return new Disconnected(error.message);
  return new Refused(error.message, data.kind ?? `code ${error.code}`, data.hint);
}

/** What to do after a bridge has ended. */
function verdict(ended: Ended, fault: Error | undefined): Extract<LinkState, { kind: 'waiting' | 'failed' }> {
  if (ended.unstarted !== undefined) return { kind: 'failed', fix: 'path', reason: ended.unstarted };
  if (fault instanceof Refused && fault.kind === 'incompatibleVersion') {
    return { kind: 'failed', fix: 'version', reason: fault.message };
  }
  if (fault && !(fault instanceof Disconnected)) return { kind: 'waiting', reason: fault.message };
  // 4: the daemon has left, by itself or not; the next bridge starts one.
  if (ended.code === 4) return { kind: 'waiting', reason: 'the daemon has ended' };
  const how = ended.signal ? `killed by ${ended.signal}` : `exit code ${ended.code ?? 'unknown'}`;
  return { kind: 'waiting', reason: ended.said === '' ? how : `${ended.said} (${how})` };
}

async function limited<T>(promise: Promise<T>, ms: number, message: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(message)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
