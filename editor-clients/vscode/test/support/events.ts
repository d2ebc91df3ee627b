// Events of a session `s`, for the tests.

import type { Ask, Item, SessionEvent } from '../../src/protocol';

type Without<T, K extends string> = T extends unknown ? Omit<T, K> : never;

export function event(body: Without<SessionEvent, 'session'>): SessionEvent {
  return { session: 's', ...body } as SessionEvent;
}

export function item(no: number, body: Without<Item, 'no' | 'turn' | 'step' | 'at'>): Item {
  return { no, turn: 1, step: 1, at: 0, ...body } as Item;
}

export function ask(fields: Partial<Ask>): Ask {
  return {
    id: 'a1',
    call: 'c1',
    turn: 1,
    at: 0,
    tool: 'run_terminal_cmd',
    title: 'run make',
    paths: [],
    reason: 'commands are asked for',
    options: [
      { kind: 'allowOnce', label: 'Allow once' },
      { kind: 'reject', label: 'Reject' },
    ],
    ...fields,
  };
}
