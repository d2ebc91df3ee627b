// A daemon in this process, as far as a client's connection needs one: it answers, remembers what it was asked, and can die.

import { PassThrough } from 'node:stream';
import {
  ResponseError,
  StreamMessageReader,
  StreamMessageWriter,
  createMessageConnection,
  type MessageConnection,
} from 'vscode-jsonrpc/node';
import type { Bridge, Ended } from '../../src/client/bridge';
import type { SessionEvent, SessionInfo } from '../../src/protocol';

export const INFO: SessionInfo = {
  id: 's',
  project: 'p',
  roots: ['/p'],
  title: 'Title',
  createdAt: 0,
  updatedAt: 0,
  state: 'idle',
  items: 0,
  lastSeq: 0,
  mode: 'ask',
  model: 'a/b',
  openAsks: [],
};

type Handler = (params: Record<string, unknown>) => unknown;
/** What a handler gives when the call is never answered. */
export const NEVER = Symbol('never');

export class Daemon {
  pid = 100;
  /** Every call, as [method, parameters]. */
  readonly calls: [string, Record<string, unknown>][] = [];
  readonly handlers: Record<string, Handler> = {
    initialize: () => ({ serverInfo: { name: 'plimsoll', version: '0', build: '0', pid: this.pid }, protocolVersion: '1.0' }),
    'project/open': () => ({ key: 'p', roots: ['/p'], createdAt: 0, trusted: false }),
    'session/create': () => INFO,
    'session/get': () => INFO,
    'session/attach': () => `sub-${(this.subscriptions += 1)}`,
    'session/detach': () => true,
    'session/setMode': ({ mode }) => ({ ...INFO, mode }),
    'turn/start': () => ({ turn: 1, queued: false }),
    'turn/steer': () => ({}),
    'turn/cancel': () => ({}),
    'permission/respond': () => ({ accepted: true }),
    'context/inspect': () => ({ window: { load: 0.1, lines: [0.5, 0.7, 0.9] } }),
  };
  private subscriptions = 0;
  private heard: (() => void) | undefined;
  private present: { wire: MessageConnection; die(ended: Ended): void } | undefined;

  /** A bridge to it. */
  start = (): Bridge => {
    const [up, down] = [new PassThrough(), new PassThrough()];
    const connection = createMessageConnection(new StreamMessageReader(down), new StreamMessageWriter(up));
    const wire = createMessageConnection(new StreamMessageReader(up), new StreamMessageWriter(down));
    let die: (ended: Ended) => void = () => undefined;
    const ended = new Promise<Ended>((resolve) => (die = resolve));
    wire.onRequest((method, params) => {
      this.calls.push([method, (params ?? {}) as Record<string, unknown>]);
      this.heard?.();
      const handler = this.handlers[method];
      if (!handler) return new ResponseError(-32601, `no ${method}`, { kind: 'methodNotFound' });
      const answer = handler((params ?? {}) as Record<string, unknown>);
      return answer === NEVER ? new Promise(() => undefined) : answer;
    });
    wire.listen();
    this.present = { wire, die };
    void ended.then(() => {
      connection.dispose();
      wire.dispose();
    });
    return { connection, ended, end: () => die({ code: 0, said: '' }) };
  };

  /** Its end, as its bridge tells it; the next one is another process. */
  die(ended: Ended = { code: 4, said: 'the daemon closed the connection' }): void {
    this.pid += 1;
    this.present?.die(ended);
  }

  tell(event: SessionEvent): void {
    void this.present?.wire.sendNotification('session/event', { subscription: `sub-${this.subscriptions}`, result: event });
  }

  /** Resolves when the method was called so often. */
  async until(method: string, times: number): Promise<void> {
    while (this.asked(method).length < times) await new Promise<void>((resolve) => (this.heard = resolve));
  }

  asked(method: string): Record<string, unknown>[] {
    return this.calls.filter(([name]) => name === method).map(([, params]) => params);
  }
}

export const refusal = (kind: string, message: string, hint?: string): ResponseError<object> =>
  new ResponseError(-32020, message, { kind, ...(hint ? { hint } : {}) });
