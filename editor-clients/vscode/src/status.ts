// The item in the status bar: what the daemon does, and how full the model's window is.

import * as vscode from 'vscode';
import { percent } from './figures';
import type { LinkState } from './client/link';
import type { SessionView } from './model/view';

export interface StatusText {
  text: string;
  tooltip: string;
  background?: 'warning' | 'error';
}

export function statusText(link: LinkState, view: SessionView | undefined): StatusText {
  switch (link.kind) {
    case 'failed':
      return { text: '$(error) Plimsoll', tooltip: `Not connected: ${link.reason}`, background: 'error' };
    case 'connecting':
    case 'waiting':
      return {
        text: '$(sync~spin) Plimsoll',
        tooltip: link.kind === 'waiting' ? `Connecting again: ${link.reason}` : 'Connecting…',
      };
    case 'asleep':
      return { text: '$(circle-outline) Plimsoll', tooltip: 'The daemon was stopped. Your next prompt starts it.' };
    case 'stopped':
      return { text: '$(debug-disconnect) Plimsoll', tooltip: 'Not connected' };
    case 'connected':
  }
  const load = view?.load && view.load.window > 0 ? ` ${percent(view.load.load)}` : '';
  const lines = [view?.title || 'No session', view?.model, view?.mode && `Mode: ${view.mode}`].filter(Boolean);
  if (view?.load && view.load.window > 0) {
    const { tokens, window } = view.load;
    lines.push(`${tokens.toLocaleString('en')} of ${window.toLocaleString('en')} tokens${load}`);
  }
  const tooltip = lines.join('\n');
  if (view && view.asks.length > 0) {
    return { text: `$(question) Plimsoll asks${load}`, tooltip: `${view.asks[0]?.title ?? ''}\n${tooltip}`, background: 'warning' };
  }
  if (view?.shortening) {
    return { text: `$(loading~spin) Plimsoll${load}`, tooltip: `Shortening the conversation for the model\n${tooltip}` };
  }
  if (view?.running) return { text: `$(loading~spin) Plimsoll${load}`, tooltip: `Working\n${tooltip}` };
  return { text: `$(circle-filled) Plimsoll${load}`, tooltip };
}

export class Status implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem('plimsoll.status', vscode.StatusBarAlignment.Right, 90);

  constructor() {
    this.item.name = 'Plimsoll';
    this.item.command = 'plimsoll.focus';
    this.item.show();
  }

  show(link: LinkState, view: SessionView | undefined): void {
    const { text, tooltip, background } = statusText(link, view);
    this.item.text = text;
    this.item.tooltip = tooltip;
    this.item.backgroundColor =
      background === undefined ? undefined : new vscode.ThemeColor(`statusBarItem.${background}Background`);
    this.item.accessibilityInformation = { label: `${text.replace(/\$\([^)]*\)\s*/g, '')}. ${tooltip}` };
  }

  dispose(): void {
    this.item.dispose();
  }
}
