// A unified difference, line by line, with its colours.

import type { Change } from '../protocol';
import { h } from './dom';

/** Lines that are shown before the rest is asked for. */
const SHOWN = 200;

export function changeCard(change: Change, open: (path: string) => void, diff: (change: Change) => void): HTMLElement {
  const name = change.path.split(/[\\/]/).at(-1) ?? change.path;
  const what = change.after == null ? 'deleted' : change.before == null ? 'new' : '';
  return h(
    'div',
    { class: 'change' },
    h(
      'div',
      { class: 'change-head' },
      h('button', { class: 'link path', type: 'button', title: change.path, click: () => open(change.path) }, name),
      what !== '' && h('span', { class: 'badge' }, what),
      h('span', { class: 'added' }, `+${change.added}`),
      h('span', { class: 'removed' }, `−${change.removed}`),
      h('button', { class: 'quiet', type: 'button', title: 'Open in the diff editor', click: () => diff(change) }, 'Open diff'),
    ),
    lines(change),
  );
}

function lines(change: Change): HTMLElement {
  const all = change.diff.replace(/\n$/, '').split('\n');
  const element = h('pre', { class: 'diff', tabIndex: 0, 'aria-label': `Changes of ${change.path}` });
  const add = (some: string[]): void => element.append(...some.map(line));
  add(all.slice(0, SHOWN));
  if (all.length > SHOWN) {
    const more = h('button', { class: 'link', type: 'button' }, `Show ${all.length - SHOWN} more lines`);
    more.addEventListener('click', () => {
      more.remove();
      add(all.slice(SHOWN));
    });
    element.append(more);
  }
  if (change.cut > 0) element.append(h('span', { class: 'hunk' }, `${change.cut} more lines are not shown`));
  return element;
}

function line(text: string): HTMLElement {
  const kind = text.startsWith('@@') ? 'hunk' : text.startsWith('+') ? 'plus' : text.startsWith('-') ? 'minus' : '';
  return h('span', { class: `line ${kind}` }, text === '' ? ' ' : text);
}
