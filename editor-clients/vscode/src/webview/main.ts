// The chat's page. Keeps what the extension tells it (state and events), shows it, and asks the extension for everything
// else. What it keeps itself over a reload: the draft and what is folded.

import './style.css';
import type { PageCommand, PageState, ToHost, ToPage } from '../chat/messages';
import { reduce } from '../model/reduce';
import type { Change } from '../protocol';
import { Asks } from './ask';
import { Composer, type Draft } from './composer';
import { h, icon } from './dom';
import { Conversation } from './entries';
import { Gauge } from './gauge';
import { Todos } from './todos';

declare function acquireVsCodeApi(): {
  postMessage(message: ToHost): void;
  getState(): Saved | undefined;
  setState(state: Saved): void;
};

interface Saved {
  draft: Draft;
  /** The session whose entries these are. */
  session?: string;
  folds: Record<string, boolean>;
}

const vscode = acquireVsCodeApi();
const saved: Saved = vscode.getState() ?? { draft: { text: '', attachments: [] }, folds: {} };
const save = (): void => vscode.setState(saved);
const say = (message: ToHost): void => vscode.postMessage(message);
const run = (command: PageCommand) => (): void => say({ type: 'run', command });

/** So near the end, in pixels, the page follows it. */
const NEAR = 40;

let state: PageState | undefined;

const actions = {
  openFile: (path: string) => say({ type: 'openFile', path }),
  openDiff: ({ path, diff }: Change) => say({ type: 'openDiff', path, diff }),
};
const conversation = new Conversation(
  {
    get: (key) => saved.folds[key],
    set: (key, open) => {
      saved.folds[key] = open;
      save();
    },
  },
  actions,
);
const asks = new Asks({
  ...actions,
  respond: (ask, choice, advice) => say({ type: 'respond', ask: ask.id, choice, ...(advice === undefined ? {} : { advice }) }),
});
const composer = new Composer({
  send: ({ text, attachments }, how) => {
    follow = true;
    say({ type: 'prompt', text, how, attachments });
  },
  stop: () => say({ type: 'stop' }),
  changed: (draft) => {
    saved.draft = draft;
    save();
  },
  history: () =>
    (state?.view?.entries ?? []).flatMap((entry) => (entry.kind === 'user' ? [entry.text] : [])).reverse(),
});
const gauge = new Gauge();
const todos = new Todos();
const title = h('button', { class: 'title', type: 'button', title: 'Switch session', click: run('sessions') });
const model = h('button', { class: 'model', type: 'button', title: 'Change the model', click: run('setModel') });
const mode = h('button', { class: 'mode quiet', type: 'button', click: run('setMode') });
composer.left.append(mode);
const banner = h('div', { class: 'banner', role: 'status', hidden: true });
const pending = h('div', { class: 'pending' });
const doing = h('span', {}, 'Working…');
const working = h('div', { class: 'working', hidden: true }, h('span', { class: 'spinner' }), doing);
const empty = h('div', { class: 'empty' });
const latest = h('button', { class: 'latest', type: 'button', hidden: true, title: 'To the end', 'aria-label': 'To the end' }, icon('down'));
/** Said by a screen reader. */
const announcement = h('div', { class: 'sr', 'aria-live': 'polite' });
const scroller = h('main', { class: 'scroller' }, empty, conversation.element, pending, working);

document.getElementById('app')?.append(
  h('header', {}, title, model),
  banner,
  h('div', { class: 'middle' }, scroller, latest),
  h('footer', {}, todos.element, asks.element, composer.element, gauge.element),
  announcement,
);

/** Whether the page stays at the end of the conversation. */
let follow = true;
const toEnd = (): void => {
  scroller.scrollTop = scroller.scrollHeight;
};
scroller.addEventListener('scroll', () => {
  follow = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < NEAR;
  latest.hidden = follow;
});
latest.addEventListener('click', () => {
  follow = true;
  toEnd();
});
new ResizeObserver(() => {
  if (follow) toEnd();
}).observe(scroller);

let wasRunning = false;

function render(): void {
  if (!state) return;
  const { view, link, folder } = state;
  const noFolder = folder === undefined;
  title.textContent = view ? view.title || 'New session' : 'New session';
  model.textContent = view?.model ?? '';
  mode.textContent = view?.mode ?? 'mode';
  mode.dataset['mode'] = view?.mode ?? '';
  mode.title = 'Change what the agent may do without asking';
  mode.hidden = noFolder;
  showBanner();
  showEmpty(noFolder);
  conversation.show(view?.entries ?? []);
  showPending();
  const running = view?.running !== undefined;
  const open = view?.asks ?? [];
  const last = view?.entries.at(-1);
  const streams = (last?.kind === 'assistant' || last?.kind === 'reasoning') && last.live !== undefined;
  const shortening = view?.shortening === true;
  doing.textContent = shortening ? 'Shortening the conversation for the model…' : 'Working…';
  working.hidden = !(running || shortening) || streams || open.length > 0;
  todos.show(view?.todos ?? []);
  const [asked] = asks.show(open);
  composer.show({
    running,
    whileRunning: state.whileRunning,
    enabled: !noFolder,
    placeholder: running ? 'Add to what is running…' : 'Ask, or say what to do…',
  });
  gauge.show(view, state.lines);
  if (asked) announcement.textContent = `Plimsoll asks: ${asked.title}`;
  else if (wasRunning && !running) announcement.textContent = 'The turn has ended.';
  else if (link.kind === 'failed') announcement.textContent = link.reason;
  wasRunning = running;
  if (follow) toEnd();
  latest.hidden = follow;
}

function showBanner(): void {
  const link = state?.link;
  if (!link || link.kind === 'connected' || state?.folder === undefined) {
    banner.hidden = true;
    return;
  }
  banner.hidden = false;
  const button = (text: string, command: PageCommand): HTMLElement =>
    h('button', { class: 'secondary', type: 'button', click: run(command) }, text);
  if (link.kind === 'failed') {
    banner.className = 'banner fault';
    banner.replaceChildren(
      h('span', {}, link.reason),
      h('span', { class: 'banner-buttons' }, button('Open settings', 'openSettings'), button('Try again', 'reconnect')),
    );
  } else if (link.kind === 'asleep') {
    banner.className = 'banner';
    banner.replaceChildren(
      h('span', {}, 'The daemon was stopped. Your next prompt starts it.'),
      h('span', { class: 'banner-buttons' }, button('Start it now', 'reconnect')),
    );
  } else {
    banner.className = 'banner';
    const text = link.kind === 'waiting' ? `Connecting again: ${link.reason}` : link.kind === 'connecting' ? 'Connecting…' : 'Not connected';
    banner.replaceChildren(h('span', { class: 'spinner' }), h('span', { title: text }, text));
  }
}

function showEmpty(noFolder: boolean): void {
  const nothing = (state?.view?.entries.length ?? 0) === 0 && state?.pending.length === 0;
  empty.hidden = !nothing;
  if (!nothing) return;
  empty.replaceChildren(
    h('div', { class: 'mark', 'aria-hidden': 'true' }),
    noFolder
      ? h('div', {}, h('p', {}, 'Plimsoll works on a folder.'), h('button', { class: 'primary', type: 'button', click: run('openFolder') }, 'Open folder'))
      : h('div', {}, h('p', {}, `Ask about ${state?.folder ?? 'this project'}, or say what to do.`), h('p', { class: 'note' }, 'Enter sends · Shift+Enter begins a new line')),
  );
}

function showPending(): void {
  const session = state?.view?.session;
  const mine = (state?.pending ?? []).filter((prompt) => prompt.session === session || (prompt.session === undefined && !session));
  pending.replaceChildren(
    ...mine.map(({ key, text, how, state: step }) => {
      const connected = state?.link.kind === 'connected';
      const word =
        step === 'sending' ? (connected ? 'sending…' : 'waits for the daemon') : how === 'steer' ? 'joins at the next step' : 'queued';
      const back = step === 'sending' && !connected;
      return h(
        'div',
        { class: 'entry user waiting' },
        h('div', { class: 'bubble' }, text),
        h(
          'div',
          { class: 'note right' },
          word,
          back && h('button', { class: 'link', type: 'button', click: () => say({ type: 'takeBack', key }) }, 'take back'),
        ),
      );
    }),
  );
}

/** Renders at the next frame; what is slow to render is rendered less often. */
let due: number | undefined;
let cost = 0;
function soon(): void {
  due ??= window.setTimeout(() => {
    requestAnimationFrame(() => {
      due = undefined;
      const begun = performance.now();
      render();
      cost = performance.now() - begun;
    });
  }, Math.min(cost * 4, 400));
}

window.addEventListener('message', ({ data }: MessageEvent<ToPage>) => {
  switch (data.type) {
    case 'state': {
      const session = data.state.view?.session;
      if (session !== state?.view?.session) {
        conversation.clear();
        asks.clear();
        follow = true;
      }
      if (session !== saved.session) {
        saved.folds = {};
        if (session === undefined) delete saved.session;
        else saved.session = session;
        save();
      }
      state = data.state;
      return soon();
    }
    case 'events':
      if (state?.view) state = { ...state, view: reduce(state.view, data.events) };
      return soon();
    case 'patch':
      if (state) state = { ...state, ...data.patch };
      return soon();
    case 'lines':
      if (state && data.lines) state = { ...state, lines: data.lines };
      else if (state) delete state.lines;
      return soon();
    case 'attach':
      return composer.attach(data.attachment);
    case 'draft':
      return composer.prepend(data);
    case 'focus':
      if (data.what === 'question') asks.focus();
      else composer.focus();
  }
});

function followLink(target: EventTarget | null): boolean {
  const href = (target as Element | null)?.closest<HTMLElement>('[data-href]')?.dataset['href'];
  if (href === undefined) return false;
  say({ type: 'openLink', href });
  return true;
}

document.addEventListener('click', ({ target }) => {
  if (followLink(target)) return;
  const copy = (target as Element).closest<HTMLElement>('[data-copy]');
  if (!copy) return;
  say({ type: 'copy', text: copy.parentElement?.querySelector('pre')?.textContent ?? '' });
  copy.textContent = 'Copied';
  setTimeout(() => (copy.textContent = 'Copy'), 1500);
});
document.addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && followLink(event.target)) event.preventDefault();
});

composer.set(saved.draft);
say({ type: 'ready' });
