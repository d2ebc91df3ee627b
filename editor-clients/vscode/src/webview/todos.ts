// The agent's todo list: how far it is on one line, all of it when unfolded.

import type { Todo } from '../protocol';
import { h, icon } from './dom';

export class Todos {
  private readonly head = h('summary', {});
  private readonly list = h('ul', {});
  readonly element = h('details', { class: 'todos', hidden: true }, this.head, this.list);

  show(todos: readonly Todo[]): void {
    const over = todos.filter(({ status }) => status === 'completed' || status === 'cancelled').length;
    this.element.hidden = todos.length === 0 || over === todos.length;
    if (this.element.hidden) return;
    const now = todos.find(({ status }) => status === 'inProgress') ?? todos.find(({ status }) => status === 'pending');
    this.head.replaceChildren(
      h('span', { class: 'todos-count' }, `Plan ${over}/${todos.length}`),
      h('span', { class: 'todos-now' }, now?.content ?? ''),
    );
    this.list.replaceChildren(...todos.map((todo) => this.entry(todo)));
  }

  private entry({ content, status }: Todo): HTMLElement {
    const picture = status === 'completed' ? 'check' : status === 'cancelled' ? 'cross' : 'dot';
    const word = { completed: 'done', cancelled: 'given up', inProgress: 'in progress', pending: 'to do' }[status as string] ?? status;
    return h(
      'li',
      { class: `todo ${status}` },
      status === 'inProgress' ? h('span', { class: 'spinner' }) : icon(picture),
      h('span', { class: 'sr' }, `${word}: `),
      h('span', {}, content),
    );
  }
}
