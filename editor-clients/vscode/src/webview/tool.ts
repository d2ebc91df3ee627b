// A tool call: one line that tells what it does and how it went, and what is behind it when it is unfolded.

import { duration } from '../figures';
import type { Change, ResultData } from '../protocol';
import type { ToolEntry } from '../model/view';
import { changeCard } from './diff';
import { h, icon, type Picture } from './dom';

/** Characters of a long text that are shown before the rest is asked for. */
const SHOWN = 6_000;

export interface ToolActions {
  openFile(path: string): void;
  openDiff(change: Change): void;
}

const STATES: Record<string, { picture: Picture; word: string }> = {
  proposed: { picture: 'dot', word: 'not begun' },
  asking: { picture: 'question', word: 'asks' },
  running: { picture: 'dot', word: 'running' },
  ok: { picture: 'check', word: 'done' },
  failed: { picture: 'cross', word: 'failed' },
  denied: { picture: 'denied', word: 'denied' },
  cancelled: { picture: 'stop', word: 'cancelled' },
  unknown: { picture: 'question', word: 'outcome unknown' },
};

export function toolSummary(tool: ToolEntry): HTMLElement {
  const { picture, word } = STATES[tool.status] ?? { picture: 'dot' as const, word: tool.status };
  const state = tool.status === 'running' ? h('span', { class: 'spinner' }) : icon(picture);
  const changes = changesOf(tool.data);
  const added = changes.reduce((sum, change) => sum + change.added, 0);
  const removed = changes.reduce((sum, change) => sum + change.removed, 0);
  return h(
    'summary',
    { class: `tool-head ${tool.status}`, title: `${tool.tool}: ${word}` },
    h('span', { class: 'state' }, state),
    h('span', { class: 'sr' }, `${word}: `),
    // Until there is a title, the tool's name and the first of its arguments.
    tool.title === undefined && h('span', { class: 'tool-name' }, tool.tool),
    h('span', { class: 'tool-title' }, tool.title ?? firstText(tool.arguments)),
    changes.length > 0 && h('span', { class: 'counts' }, h('span', { class: 'added' }, `+${added}`), ' ', h('span', { class: 'removed' }, `−${removed}`)),
    !['ok', 'proposed', 'running'].includes(tool.status) && h('span', { class: 'word' }, word),
  );
}

/** What is behind the line. */
export function toolBody(tool: ToolEntry, actions: ToolActions): HTMLElement {
  const body = h('div', { class: 'tool-body' });
  const changes = changesOf(tool.data);
  const command = commandOf(tool.data);
  if (command) {
    body.append(h('pre', { class: 'command', tabIndex: 0 }, h('span', { class: 'prompt-sign', 'aria-hidden': 'true' }, '$ '), command.command));
    if (command.output !== '') body.append(long(command.output));
    body.append(h('div', { class: 'note' }, command.how));
  } else if (changes.length > 0) {
    body.append(...changes.map((change) => changeCard(change, (path) => actions.openFile(path), (one) => actions.openDiff(one))));
  } else {
    const path = typeof tool.data?.['path'] === 'string' ? tool.data['path'] : undefined;
    if (path !== undefined) {
      body.append(h('button', { class: 'link path', type: 'button', click: () => actions.openFile(path) }, path));
    }
    if (tool.output === '' && tool.text === undefined) body.append(h('pre', { class: 'plain', tabIndex: 0 }, pretty(tool.arguments)));
  }
  if (tool.output !== '') body.append(long(tool.output));
  if (tool.text !== undefined && !command && (changes.length === 0 || tool.status !== 'ok')) body.append(long(tool.text));
  return body;
}

/** Whether it stands unfolded until the user says otherwise. */
export function opensByItself(tool: ToolEntry): boolean {
  return changesOf(tool.data).length > 0 || (tool.status === 'running' && tool.output !== '');
}

/** The first text among the arguments: mostly the path, the pattern or the command. */
function firstText(args: string): string {
  try {
    const parsed: unknown = JSON.parse(args);
    const texts = typeof parsed === 'object' && parsed !== null ? Object.values(parsed) : [];
    const first: unknown = texts.find((value) => typeof value === 'string');
    return typeof first === 'string' ? (first.split('\n', 1)[0] ?? '') : '';
  } catch {
    return '';
  }
}

function pretty(args: string): string {
  try {
    return JSON.stringify(JSON.parse(args), null, 2);
  } catch {
    return args;
  }
}

export function changesOf(data: ResultData | undefined): Change[] {
  if (data?.kind !== 'edit' || !Array.isArray(data['files'])) return [];
  return (data['files'] as Change[]).filter((file) => typeof file.path === 'string' && typeof file.diff === 'string');
}

interface Command {
  command: string;
  output: string;
  how: string;
}

/** What a command said and how it ended. */
export function commandOf(data: ResultData | undefined): Command | undefined {
  const run = data?.kind === 'command' ? data : data?.kind === 'task' ? data['run'] : undefined;
  if (typeof run !== 'object' || run === null) return undefined;
  const { command, exit, durationMs, output } = run as {
    command?: unknown;
    exit?: { type: string; code?: number; signal?: unknown };
    durationMs?: number;
    output?: { head?: string; omitted?: number; tail?: string };
  };
  if (typeof command !== 'string') return undefined;
  const { head = '', omitted = 0, tail = '' } = output ?? {};
  const said = omitted > 0 ? `${head}\n… ${omitted} bytes are not shown …\n${tail}` : head + tail;
  const words: Record<string, string> = {
    code: `exit code ${exit?.code ?? '?'}`,
    signal: `ended by signal ${String(exit?.signal ?? '?')}`,
    timedOut: 'ran out of time',
    cancelled: 'cancelled',
    notStarted: 'could not be started',
    running: 'goes on in the background',
  };
  const ended = words[exit?.type ?? ''] ?? exit?.type ?? '';
  const took = typeof durationMs === 'number' && exit?.type !== 'running' ? ` · ${duration(durationMs)}` : '';
  return { command, output: said.replace(/\n$/, ''), how: ended + took };
}

function long(text: string): HTMLElement {
  const element = h('pre', { class: 'plain', tabIndex: 0 }, text.slice(0, SHOWN));
  if (text.length > SHOWN) {
    const more = h('button', { class: 'link', type: 'button' }, `Show ${text.length - SHOWN} more characters`);
    more.addEventListener('click', () => (element.textContent = text));
    element.append('\n', more);
  }
  return element;
}
