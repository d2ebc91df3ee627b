// Keys of providers, in the editor's secret storage; never in settings.

import type * as vscode from 'vscode';

/** Where the names of the providers stand whose keys are kept. Not their keys. */
const NAMES = 'plimsoll.keys';
const place = (provider: string): string => `plimsoll.key.${provider}`;

export class Keys {
  constructor(private readonly context: Pick<vscode.ExtensionContext, 'secrets' | 'globalState'>) {}

  async all(): Promise<{ provider: string; key: string }[]> {
    const found = await Promise.all(
      this.names().map(async (provider) => ({ provider, key: await this.context.secrets.get(place(provider)) })),
    );
    return found.flatMap(({ provider, key }) => (key ? [{ provider, key }] : []));
  }

  /** Keeps a key; an empty one is forgotten. */
  async set(provider: string, key: string): Promise<void> {
    const others = this.names().filter((name) => name !== provider);
    if (key === '') {
      await this.context.secrets.delete(place(provider));
      await this.context.globalState.update(NAMES, others);
    } else {
      await this.context.secrets.store(place(provider), key);
      await this.context.globalState.update(NAMES, [...others, provider]);
    }
  }

  private names(): string[] {
    return this.context.globalState.get<string[]>(NAMES) ?? [];
  }
}
