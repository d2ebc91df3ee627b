// What the extension and the chat's page say to each other.

import type { LinkState } from '../client/link';
import type { Pending } from '../client/chat';
import type { SessionView } from '../model/view';
import type { Attachment, SessionEvent } from '../protocol';

/** Everything that the page shows, but the view's events and the draft. */
export interface PageState {
  link: LinkState;
  /** Name of the first folder; absent: no folder is open. */
  folder?: string;
  view?: SessionView;
  pending: readonly Pending[];
  /** Where the lines of the load gauge are, as parts of the window. */
  lines?: readonly number[];
  /** What Enter does while a turn runs. */
  whileRunning: 'queue' | 'steer';
}

export type ToPage =
  | { type: 'state'; state: PageState }
  | { type: 'events'; events: readonly SessionEvent[] }
  | { type: 'patch'; patch: Partial<Omit<PageState, 'view' | 'lines'>> }
  | { type: 'lines'; lines: readonly number[] | null }
  /** Beside the next prompt. */
  | { type: 'attach'; attachment: Attachment }
  /** A prompt that is the user's again: put before what is in the box. */
  | { type: 'draft'; text: string; attachments: Attachment[] }
  | { type: 'focus'; what: 'prompt' | 'question' };

export type ToHost =
  | { type: 'ready' }
  | { type: 'prompt'; text: string; how: 'start' | 'steer'; attachments: Attachment[] }
  | { type: 'takeBack'; key: string }
  | { type: 'stop' }
  | { type: 'respond'; ask: string; choice: string; advice?: string }
  | { type: 'openLink'; href: string }
  | { type: 'openFile'; path: string; line?: number }
  /** In the editor's own view: one file of an edit, of a question or of a call. */
  | { type: 'openDiff'; path: string; diff: string }
  | { type: 'copy'; text: string }
  | { type: 'run'; command: PageCommand };

/** Commands that the page may run. */
export const PAGE_COMMANDS = ['newSession', 'sessions', 'setMode', 'setModel', 'renameSession', 'reconnect', 'openSettings', 'showLog', 'openFolder'] as const;
export type PageCommand = (typeof PAGE_COMMANDS)[number];
