// The prompt box: what is being written, what is put beside it, and the button that sends or stops.

import type { Attachment } from '../protocol';
import { h, icon } from './dom';

export interface Draft {
  text: string;
  attachments: Attachment[];
}

export interface ComposerActions {
  send(draft: Draft, how: 'start' | 'steer'): void;
  stop(): void;
  changed(draft: Draft): void;
  /** Earlier prompts, the newest first. */
  history(): string[];
}

export class Composer {
  private readonly box = h('textarea', { rows: 1, 'aria-label': 'Prompt', spellcheck: true });
  private readonly chips = h('div', { class: 'chips' });
  private readonly send = h('button', { type: 'button', class: 'round primary', title: 'Send (Enter)', 'aria-label': 'Send' }, icon('send'));
  private readonly stop = h('button', { type: 'button', class: 'round danger', title: 'Stop the turn', 'aria-label': 'Stop the turn' }, icon('stop'));
  private readonly hint = h('span', { class: 'hint' });
  /** The line below the box holds the mode on its left. */
  readonly left = h('span', { class: 'composer-left' });
  readonly element = h(
    'div',
    { class: 'composer' },
    this.chips,
    this.box,
    h('div', { class: 'composer-row' }, this.left, this.hint, this.stop, this.send),
  );
  private attachments: Attachment[] = [];
  private running = false;
  private whileRunning: 'queue' | 'steer' = 'queue';
  /** Which earlier prompt is shown; -1: none. */
  private recalled = -1;

  constructor(private readonly actions: ComposerActions) {
    this.box.addEventListener('input', () => {
      this.recalled = -1;
      this.changed();
    });
    this.box.addEventListener('keydown', (event) => this.key(event));
    this.send.addEventListener('click', () => this.submit(false));
    this.stop.addEventListener('click', () => actions.stop());
    this.show({ running: false, whileRunning: 'queue', enabled: true, placeholder: '' });
  }

  get draft(): Draft {
    return { text: this.box.value, attachments: this.attachments };
  }

  set(draft: Draft): void {
    this.box.value = draft.text;
    this.attachments = draft.attachments;
    this.changed();
  }

  /** Puts a prompt before what is written. */
  prepend({ text, attachments }: Draft): void {
    const have = this.box.value;
    this.set({ text: have.trim() === '' ? text : `${text}\n\n${have}`, attachments: this.attachments });
    for (const attachment of attachments) this.attach(attachment);
    this.focus();
  }

  attach(attachment: Attachment): void {
    const name = JSON.stringify(attachment);
    if (this.attachments.some((known) => JSON.stringify(known) === name)) return;
    this.attachments = [...this.attachments, attachment];
    this.changed();
  }

  focus(): void {
    this.box.focus();
  }

  show(state: { running: boolean; whileRunning: 'queue' | 'steer'; enabled: boolean; placeholder: string }): void {
    this.running = state.running;
    this.whileRunning = state.whileRunning;
    this.box.disabled = !state.enabled;
    this.box.placeholder = state.placeholder;
    this.stop.hidden = !state.running;
    this.refresh();
  }

  private key(event: KeyboardEvent): void {
    if (event.isComposing) return;
    if (event.key === 'Enter' && !event.shiftKey && !event.altKey) {
      event.preventDefault();
      this.submit(event.ctrlKey || event.metaKey);
    } else if (event.key === 'ArrowUp' && (this.box.value === '' || this.recalled >= 0)) this.recall(event, this.recalled + 1);
    else if (event.key === 'ArrowDown' && this.recalled >= 0) this.recall(event, this.recalled - 1);
  }

  private recall(event: KeyboardEvent, index: number): void {
    const history = this.actions.history();
    if (index >= history.length) return;
    event.preventDefault();
    this.box.value = history[index] ?? '';
    this.changed();
    this.recalled = index;
  }

  /** Sends; `other`: in the way that is not set while a turn runs. */
  private submit(other: boolean): void {
    const text = this.box.value.trim();
    if (text === '' || this.box.disabled) return;
    const steers = this.running && (this.whileRunning === 'steer') !== other;
    const { attachments } = this;
    // Steering carries text alone: what is beside it waits for the next prompt.
    this.set({ text: '', attachments: steers ? attachments : [] });
    this.actions.send({ text, attachments: steers ? [] : attachments }, steers ? 'steer' : 'start');
  }

  private changed(): void {
    this.recalled = -1;
    this.refresh();
    this.actions.changed(this.draft);
  }

  private refresh(): void {
    // As high as its text, up to what the style allows.
    this.box.style.height = 'auto';
    this.box.style.height = `${this.box.scrollHeight + 2}px`;
    const written = this.box.value.trim() !== '';
    this.send.disabled = !written || this.box.disabled;
    this.send.hidden = this.running && !written;
    const [enter, other] = this.whileRunning === 'steer' ? ['steers', 'queues'] : ['queues', 'steers'];
    this.hint.textContent = this.running && written ? `Enter ${enter} · Ctrl+Enter ${other}` : '';
    this.chips.replaceChildren(...this.attachments.map((attachment) => this.chip(attachment)));
    this.chips.hidden = this.attachments.length === 0;
  }

  private chip(attachment: Attachment): HTMLElement {
    const full = fullName(attachment);
    const name = full.split(/[\\/]/).at(-1) ?? full;
    const lines = attachment.kind === 'file' && attachment.lines ? `:${attachment.lines.start}–${attachment.lines.end}` : '';
    const remove = h('button', { type: 'button', class: 'quiet', 'aria-label': `Remove ${name}`, title: 'Remove' }, icon('cross'));
    remove.addEventListener('click', () => {
      this.attachments = this.attachments.filter((known) => known !== attachment);
      this.changed();
      this.focus();
    });
    return h('span', { class: 'chip', title: full }, name + lines, remove);
  }
}

/** What names an attachment: a path, a name, a session. */
function fullName(attachment: Attachment): string {
  switch (attachment.kind) {
    case 'file':
      return attachment.path;
    case 'session':
      return attachment.session;
    case 'text':
    case 'image':
      return attachment.name ?? 'image';
  }
}
