// The conversation: one element for each entry, made again only when the entry is another object.

import { count, money } from '../figures';
import type { EndEntry, Entry, TextEntry } from '../model/view';
import { h, icon } from './dom';
import { renderMarkdown } from './markdown';
import { opensByItself, toolBody, toolSummary, type ToolActions } from './tool';

/** Causes of notices that tell why a turn ended. */
const ENDINGS = ['interrupted', 'crash', 'storeError', 'modelError', 'limit'];
/** Entries that are shown; earlier ones when asked for. */
const SHOWN = 200;

export interface Folds {
  /** Whether the user folded or unfolded this entry. */
  get(key: string): boolean | undefined;
  set(key: string, open: boolean): void;
}

export class Conversation {
  readonly element = h('div', { class: 'log', role: 'log', 'aria-label': 'Conversation', 'aria-live': 'off', tabIndex: -1 });
  private readonly made = new Map<string, { entry: Entry; element: HTMLElement }>();
  private shown = SHOWN;

  constructor(
    private readonly folds: Folds,
    private readonly actions: ToolActions,
  ) {}

  /** For another session. */
  clear(): void {
    this.made.clear();
    this.shown = SHOWN;
    this.element.replaceChildren();
  }

  show(entries: readonly Entry[]): void {
    const hidden = Math.max(0, entries.length - this.shown);
    const wanted: HTMLElement[] = [];
    if (hidden > 0) {
      const more = h('button', { class: 'link earlier', type: 'button' }, `Show earlier (${hidden})`);
      more.addEventListener('click', () => {
        this.shown += SHOWN;
        this.show(entries);
      });
      wanted.push(more);
    }
    const keys = new Set<string>();
    for (const [index, entry] of entries.entries()) {
      if (index < hidden) continue;
      keys.add(entry.key);
      const known = this.made.get(entry.key);
      if (known?.entry === entry) {
        wanted.push(known.element);
        continue;
      }
      const element = this.make(entry, entries[index - 1]);
      this.made.set(entry.key, { entry, element });
      wanted.push(element);
    }
    for (const key of [...this.made.keys()]) if (!keys.has(key)) this.made.delete(key);
    this.place(wanted);
  }

  /** Puts the elements in order and touches only what is not in its place. */
  private place(wanted: HTMLElement[]): void {
    let at: ChildNode | null = this.element.firstChild;
    for (const element of wanted) {
      if (at === element) at = at.nextSibling;
      else this.element.insertBefore(element, at);
    }
    while (at) {
      const next: ChildNode | null = at.nextSibling;
      at.remove();
      at = next;
    }
  }

  private make(entry: Entry, before: Entry | undefined): HTMLElement {
    switch (entry.kind) {
      case 'user':
        return h(
          'div',
          { class: 'entry user' },
          h('div', { class: 'sr' }, entry.steering ? 'You, while it ran:' : 'You:'),
          h('div', { class: 'bubble' }, entry.text, entry.images.length > 0 && h('div', { class: 'note' }, images(entry.images))),
          entry.steering && h('div', { class: 'note right' }, 'joined the running turn'),
        );
      case 'assistant':
        return this.answer(entry);
      case 'reasoning':
        return this.fold(entry.key, entry.live !== undefined && entry.text !== '', (open) => [
          h('summary', {}, entry.live === undefined ? 'Reasoning' : 'Reasoning…'),
          open && h('div', { class: 'reasoning-text' }, renderMarkdown(entry.text)),
        ], 'entry reasoning');
      case 'tool':
        return this.fold(
          entry.key,
          opensByItself(entry),
          (open) => [toolSummary(entry), open && toolBody(entry, this.actions)],
          'entry tool',
        );
      case 'notice':
        return h('div', { class: `entry notice ${entry.cause}` }, entry.text);
      case 'end':
        // A notice right before it has said why.
        return end(entry, before?.kind === 'notice' && before.turn === entry.turn && ENDINGS.includes(before.cause));
    }
  }

  private answer(entry: TextEntry): HTMLElement {
    return h(
      'div',
      { class: `entry assistant${entry.live === undefined ? '' : ' live'}` },
      h('div', { class: 'sr' }, 'Plimsoll:'),
      renderMarkdown(entry.text),
      entry.cut && h('div', { class: 'note' }, 'The answer was cut off here.'),
    );
  }

  /** A part that folds. What is inside is made when it is open. */
  private fold(
    key: string,
    byItself: boolean,
    content: (open: boolean) => (Node | false)[],
    style: string,
  ): HTMLElement {
    const open = this.folds.get(key) ?? byItself;
    const element = h('details', { class: style, open });
    const fill = (isOpen: boolean): void => element.replaceChildren(...content(isOpen).filter((node) => node !== false));
    fill(open);
    // Enter and Space on the line are clicks, too.
    element.addEventListener('click', ({ target }) => {
      if ((target as Element).closest('summary')?.parentElement === element) this.folds.set(key, !element.open);
    });
    element.addEventListener('toggle', () => {
      if (element.open && element.childNodes.length < 2) fill(true);
    });
    return element;
  }
}

function images(list: readonly { name: string; width: number; height: number }[]): string {
  return list.map(({ name, width, height }) => `${name || 'image'} (${width} × ${height})`).join(', ');
}

const REASONS: Record<string, string> = {
  maxTokens: 'The answer reached the output limit.',
  maxSteps: 'The turn reached its limit of steps.',
  limit: 'A limit ended the turn.',
  refusal: 'The model refused.',
  cancelled: 'Stopped.',
  modelError: 'The model failed.',
  storeError: 'The store could not be written.',
  crashed: 'The daemon ended while this turn ran.',
  internal: 'A fault of Plimsoll’s own ended the turn.',
};

function end(entry: EndEntry, said: boolean): HTMLElement {
  const { usage, cost } = entry;
  const figures = [
    usage.input > 0 && `${count(usage.input)} in${usage.cacheRead > 0 ? ` (${count(usage.cacheRead)} cached)` : ''}`,
    usage.output > 0 && `${count(usage.output)} out`,
    cost !== undefined && money(cost),
  ].filter(Boolean);
  const bad = entry.stopReason !== 'endTurn';
  const quiet = entry.stopReason === 'cancelled';
  const message = bad ? (entry.message ?? REASONS[entry.stopReason] ?? `The turn ended: ${entry.stopReason}.`) : entry.message;
  return h(
    'div',
    { class: 'entry end' },
    message !== undefined && !said && h('div', { class: quiet ? 'ended quiet-end' : bad ? 'ended fault' : 'ended' }, icon(quiet ? 'stop' : bad ? 'cross' : 'dot'), h('span', {}, message)),
    entry.unsettled.length > 0 &&
      h('div', { class: 'ended fault' }, icon('question'), h('span', {}, `It is not known whether these calls took effect: ${entry.unsettled.join(', ')}`)),
    figures.length > 0 && h('div', { class: 'figures' }, figures.join(' · ')),
  );
}
