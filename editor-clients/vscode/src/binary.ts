// Where the `plimsoll` program is.

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

export interface Surroundings {
  env: NodeJS.ProcessEnv;
  home: string;
  platform: NodeJS.Platform;
  isProgram(file: string): boolean;
}

const here = (): Surroundings => ({
  env: process.env,
  home: os.homedir(),
  platform: process.platform,
  isProgram: (file) => {
    try {
      fs.accessSync(file, fs.constants.X_OK);
      return fs.statSync(file).isFile();
    } catch {
      return false;
    }
  },
});

/** The program that the setting means; nothing when there is none. */
export function findProgram(setting: string, surroundings: Surroundings = here()): string | undefined {
  const { env, home, platform, isProgram } = surroundings;
  const wanted = setting.trim() || 'plimsoll';
  const endings = platform === 'win32' ? ['.exe', ''] : [''];
  const first = (files: string[]): string | undefined => files.flatMap((file) => endings.map((ending) => file + ending)).find(isProgram);
  if (wanted.startsWith('~/')) return first([path.join(home, wanted.slice(2))]);
  if (path.isAbsolute(wanted)) return first([wanted]);
  // Relative to what would be a guess; only a bare name is looked for.
  if (wanted.includes('/') || wanted.includes(path.sep)) return undefined;
  const folders = (env['PATH'] ?? '').split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  // An editor that was not started from a shell often lacks these.
  const usual = ['.cargo/bin', '.local/bin'].map((folder) => path.join(home, folder));
  return first([...folders, ...usual].map((folder) => path.join(folder, wanted)));
}
