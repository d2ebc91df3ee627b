// Hears what a chat tells, and waits for it.

import { Chat, type ChatListener, type ChatOptions, type Kept, type Pending } from '../../src/client/chat';
import type { LinkState } from '../../src/client/link';

const PATIENCE = 20_000;

export class Heard implements ChatListener {
  readonly links: LinkState[] = [];
  readonly returned: string[] = [];
  readonly said: string[] = [];
  pending: readonly Pending[] = [];
  lines: readonly number[] | undefined;
  kept: Kept = { pending: [] };
  private waiting: { holds(): boolean; done(): void }[] = [];

  onView = (): void => this.look();
  onEvents = (): void => this.look();
  onLink = (state: LinkState): void => this.note(() => this.links.push(state));
  onPending = (pending: readonly Pending[]): void => this.note(() => (this.pending = pending));
  onLines = (lines: readonly number[] | undefined): void => this.note(() => (this.lines = lines));
  onReturned = ({ text }: { text: string }): void => this.note(() => this.returned.push(text));
  onSay = (message: string): void => this.note(() => this.said.push(message));
  onKept = (kept: Kept): void => this.note(() => (this.kept = structuredClone(kept)));

  /** Resolves as soon as this holds. */
  async until(what: string, holds: () => boolean): Promise<void> {
    if (holds()) return;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve, reject) => {
      timer = setTimeout(() => reject(new Error(`waited in vain until ${what}`)), PATIENCE);
      this.waiting.push({ holds, done: resolve });
    }).finally(() => clearTimeout(timer));
  }

  private note(change: () => unknown): void {
    change();
    this.look();
  }

  private look(): void {
    for (const waiter of this.waiting.filter(({ holds }) => holds())) {
      this.waiting = this.waiting.filter((other) => other !== waiter);
      waiter.done();
    }
  }
}

export function listen(options: Omit<ChatOptions, 'clientInfo' | 'log' | 'kept' | 'pause'> & { kept?: Kept }): {
  chat: Chat;
  heard: Heard;
} {
  const heard = new Heard();
  const chat = new Chat(
    {
      clientInfo: { name: 'plimsoll.vscode', version: '0' },
      log: () => undefined,
      kept: { pending: [] },
      pause: () => Promise.resolve(),
      ...options,
    },
    heard,
  );
  return { chat, heard };
}
