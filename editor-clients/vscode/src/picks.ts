// Lists in the editor's own quick pick: sessions, modes, models, providers.

import * as vscode from 'vscode';
import { count } from './figures';
import { MODES, type ModelInfo, type ProviderKey, type SessionInfo } from './protocol';

type SessionItem = vscode.QuickPickItem & { info?: SessionInfo };

export interface SessionActions {
  list(): Promise<SessionInfo[]>;
  rename(info: SessionInfo): Promise<void>;
  delete(info: SessionInfo): Promise<void>;
}

const RENAME: vscode.QuickInputButton = { iconPath: new vscode.ThemeIcon('edit'), tooltip: 'Rename' };
const DELETE: vscode.QuickInputButton = { iconPath: new vscode.ThemeIcon('trash'), tooltip: 'Delete' };

/** Lets the user choose a session, or `new`; renames and deletes on the way. */
export async function pickSession(current: string | undefined, actions: SessionActions): Promise<SessionInfo | 'new' | undefined> {
  const pick = vscode.window.createQuickPick<SessionItem>();
  pick.placeholder = 'Switch to a session';
  pick.matchOnDescription = true;
  const fill = async (): Promise<void> => {
    pick.busy = true;
    const sessions = await actions.list();
    pick.items = [{ label: '$(add) New session', alwaysShow: true }, ...sessions.map((info) => item(info, info.id === current))];
    pick.busy = false;
  };
  try {
    return await new Promise<SessionInfo | 'new' | undefined>((resolve, reject) => {
      let acting = false;
      pick.onDidAccept(() => {
        const [chosen] = pick.selectedItems;
        if (chosen) resolve(chosen.info ?? 'new');
      });
      pick.onDidTriggerItemButton(({ button, item: { info } }) => {
        if (!info) return;
        // An input box or a question takes the pick's place; it comes back afterwards.
        acting = true;
        pick.ignoreFocusOut = true;
        const act = button === RENAME ? actions.rename(info) : actions.delete(info);
        act
          .then(fill)
          .then(() => {
            acting = false;
            pick.ignoreFocusOut = false;
            pick.show();
          })
          .catch(reject);
      });
      pick.onDidHide(() => {
        if (!acting) resolve(undefined);
      });
      pick.show();
      fill().catch(reject);
    });
  } finally {
    pick.dispose();
  }
}

function item(info: SessionInfo, current: boolean): SessionItem {
  const state = { running: ' $(loading~spin)', waiting: ' $(question)', interrupted: ' $(warning)' }[info.state as string] ?? '';
  return {
    info,
    label: `${current ? '$(check) ' : ''}${info.title || 'Untitled'}${state}`,
    description: `${ago(info.updatedAt)} · ${info.mode} · ${info.model}`,
    buttons: [RENAME, DELETE],
  };
}

/** How long ago, in one word or two. */
export function ago(at: number, now = Date.now()): string {
  const minutes = Math.max(0, Math.round((now - at) / 60_000));
  if (minutes < 1) return 'just now';
  if (minutes < 60) return `${minutes} min ago`;
  const hours = Math.round(minutes / 60);
  if (hours < 24) return `${hours} h ago`;
  return `${Math.round(hours / 24)} d ago`;
}

export async function pickMode(current: string | undefined): Promise<string | undefined> {
  const items = MODES.map(({ mode, about }) => ({
    label: `${mode === current ? '$(check) ' : ''}${mode}`,
    detail: about,
    mode,
  }));
  const chosen = await vscode.window.showQuickPick(items, { placeHolder: 'What the agent may do without asking', matchOnDetail: true });
  return chosen?.mode;
}

export async function pickModel(current: string | undefined, list: () => Promise<{ models: ModelInfo[]; default: string }>): Promise<string | undefined> {
  const items = list().then(({ models, default: usual }) =>
    models.map(({ id, contextWindow, images, keyState }) => ({
      label: `${id === current ? '$(check) ' : ''}${id}`,
      description: [id === usual && 'default', `${count(contextWindow)} tokens`, images && 'images', keyState === 'missing' && 'key missing']
        .filter(Boolean)
        .join(' · '),
      id,
    })),
  );
  const chosen = await vscode.window.showQuickPick(items, { placeHolder: 'Model of this session, from its next turn on' });
  return chosen?.id;
}

const SOURCES: Record<string, string> = {
  client: 'given to this editor',
  clientEnvironment: 'in this editor’s environment',
  daemonEnvironment: 'in the daemon’s environment',
  command: 'from a command',
  file: 'in the configuration',
};

/** Asks for a provider and its key. An empty key: forget it. */
export async function pickKey(list: () => Promise<ProviderKey[]>): Promise<{ provider: string; key: string } | undefined> {
  const items = list().then((providers) =>
    providers.map(({ provider, state, source, variable }) => ({
      label: provider,
      description: state === 'set' ? (SOURCES[source ?? ''] ?? 'set') : state === 'missing' ? 'missing' : 'needs no key',
      ...(variable ? { detail: variable } : {}),
    })),
  );
  const chosen = await vscode.window.showQuickPick(items, { placeHolder: 'Key of which provider?' });
  if (!chosen) return undefined;
  const key = await vscode.window.showInputBox({
    password: true,
    ignoreFocusOut: true,
    prompt: `Key of ${chosen.label}. It is kept in this editor’s secret storage and given to the daemon’s memory only; leave it empty to forget it.`,
  });
  return key === undefined ? undefined : { provider: chosen.label, key: key.trim() };
}
