// Questions about permission: what will happen, and every answer that is offered.

import type { Ask, Change } from '../protocol';
import { changeCard } from './diff';
import { h, icon } from './dom';
import { renderMarkdown } from './markdown';

/** After this time an answer that changed nothing can be given again. */
const AGAIN_MS = 3_000;
/** Letters of an answer that fits beside another one. */
const SHORT = 24;

export interface AskActions {
  respond(ask: Ask, choice: string, advice: string | undefined): void;
  openFile(path: string): void;
  openDiff(change: Change): void;
}

export class Asks {
  readonly element = h('div', { class: 'asks' });
  /** A question does not change; its card stays, with what was typed into it. */
  private readonly cards = new Map<string, HTMLElement>();

  constructor(private readonly actions: AskActions) {}

  /** Gives the questions that were not shown before. */
  show(asks: readonly Ask[]): Ask[] {
    const fresh = asks.filter((ask) => !this.cards.has(ask.id));
    for (const id of [...this.cards.keys()]) {
      if (asks.some((ask) => ask.id === id)) continue;
      this.cards.get(id)?.remove();
      this.cards.delete(id);
    }
    for (const ask of fresh) {
      const card = this.card(ask);
      this.cards.set(ask.id, card);
      this.element.append(card);
    }
    return fresh;
  }

  clear(): void {
    this.show([]);
  }

  focus(): void {
    this.element.querySelector<HTMLElement>('.options button')?.focus();
  }

  private card(ask: Ask): HTMLElement {
    const advice = h('input', {
      class: 'advice',
      type: 'text',
      placeholder: 'Reject, and say what to do instead',
      'aria-label': 'Advice for the agent, sent with a rejection',
    });
    const buttons = ask.options.map(({ kind, label }) => {
      const style = kind === 'allowOnce' ? 'primary' : 'secondary';
      return h('button', { type: 'button', class: style, click: () => respond(kind) }, ...marked(label));
    });
    // Short answers stand side by side, before those that say what they store.
    const isShort = (_: unknown, index: number): boolean => (ask.options[index]?.label.length ?? 0) <= SHORT;
    const isLong = (_: unknown, index: number): boolean => !isShort(_, index);
    const respond = (choice: string): void => {
      for (const button of buttons) button.disabled = true;
      setTimeout(() => buttons.forEach((button) => (button.disabled = false)), AGAIN_MS);
      const text = advice.value.trim();
      this.actions.respond(ask, choice, choice === 'reject' && text !== '' ? text : undefined);
    };
    const rejects = ask.options.some(({ kind }) => kind === 'reject');
    advice.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && !event.isComposing && advice.value.trim() !== '') respond('reject');
    });
    // What is stored stands in the label as a rule; where it does not, it is said below.
    const rules = ask.options.filter(({ label, rules = [] }) => rules.some((rule) => !label.includes(pattern(rule))));
    const changes = ask.changes ?? [];
    return h(
      'section',
      { class: 'ask', role: 'group', 'aria-label': `Plimsoll asks: ${ask.title}` },
      h('div', { class: 'ask-head' }, icon('shield'), h('span', { class: 'ask-title' }, ask.title)),
      h('div', { class: 'note' }, ...marked(ask.reason)),
      ask.command ? h('pre', { class: 'command', tabIndex: 0 }, h('span', { class: 'prompt-sign', 'aria-hidden': 'true' }, '$ '), ask.command) : null,
      ask.plan ? h('div', { class: 'plan-text', tabIndex: 0 }, renderMarkdown(ask.plan)) : null,
      ...changes.map((change) => changeCard(change, (path) => this.actions.openFile(path), (one) => this.actions.openDiff(one))),
      changes.length === 0 && ask.paths.length > 0 && h('div', { class: 'paths' }, ask.paths.join('\n')),
      h('div', { class: 'options' }, ...buttons.filter(isShort)),
      rejects && advice,
      h('div', { class: 'options lasting' }, ...buttons.filter(isLong)),
      ...rules.map(({ label, rules: stored }) =>
        h('div', { class: 'note rules' }, `${label}: `, ...(stored ?? []).map((rule) => h('code', {}, rule))),
      ),
    );
  }
}

/** What a rule is about: what stands in its brackets. */
function pattern(rule: string): string {
  return /^\w+\((.*)\)$/s.exec(rule)?.[1] ?? rule;
}

/** A text in which commands and rules stand between backticks. */
function marked(text: string): (Node | string)[] {
  return text.split('`').map((part, index) => (index % 2 === 1 ? h('code', {}, part) : part));
}
