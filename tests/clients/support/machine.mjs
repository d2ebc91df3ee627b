// A machine of its own for one check: temporary folders, a clean environment, a workspace, the scripted model
// configured, and whatever daemon is started on it. `PLIMSOLL_BIN` names the binary under test.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { ModelServer } from './model.mjs';

const binary = process.env.PLIMSOLL_BIN;
if (!binary || !path.isAbsolute(binary)) throw new Error('PLIMSOLL_BIN must be the absolute path of the binary under test');

/** How long anything that must come is waited for. Generous: the computer may be busy. */
export const PATIENCE = 60_000;

/** The value of `promise`, which must come in time. */
export async function inTime(what, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited ${PATIENCE} ms in vain for ${what}`)), PATIENCE);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

export class Machine {
  /** Made for the test `t`, and gone with it. Its scripted model must have been asked exactly what the script says. */
  static async start(t, { mode = 'ask' } = {}) {
    const machine = new Machine();
    machine.folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'plimsoll-clients-')));
    const folder = (name) => {
      const made = path.join(machine.folder, name);
      fs.mkdirSync(made, { mode: 0o700 });
      return made;
    };
    machine.env = {
      HOME: folder('home'),
      PLIMSOLL_CONFIG_DIR: folder('config'),
      PLIMSOLL_DATA_DIR: folder('data'),
      PLIMSOLL_RUNTIME_DIR: folder('run'),
      PATH: process.env.PATH,
      LANG: 'C.UTF-8',
    };
    machine.work = folder('work');
    machine.model = await ModelServer.start();
    fs.writeFileSync(
      path.join(machine.env.PLIMSOLL_CONFIG_DIR, 'config.toml'),
      [
        'model = "test/scripted"',
        '[providers.test]',
        'api = "openai-chat"',
        `base_url = "${machine.model.url}"`,
        '[providers.test.models.scripted]',
        'context_window = 200000',
        'max_output = 8192',
        '[permissions]',
        `mode = "${mode}"`,
        '',
      ].join('\n'),
    );
    t.after(() => machine.stop());
    return machine;
  }

  binary = binary;
  children = [];

  /** Writes a file of the workspace; gives its path. */
  file(name, text) {
    const file = path.join(this.work, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, text);
    return file;
  }

  /** A running `plimsoll` with these arguments. */
  spawn(...args) {
    const child = spawn(binary, args, { cwd: this.work, env: this.env, stdio: ['pipe', 'pipe', 'pipe'] });
    child.said = '';
    child.stderr.setEncoding('utf8').on('data', (text) => (child.said += text));
    child.ended = once(child, 'close').then(([code, signal]) => ({ code, signal }));
    this.children.push(child);
    return child;
  }

  /** Runs a program to its end; gives {code, stdout, stderr}. */
  async run(program, args, options = {}) {
    try {
      const done = await promisify(execFile)(program, args, { cwd: this.work, env: this.env, timeout: PATIENCE, ...options });
      return { code: 0, ...done };
    } catch (error) {
      if (error.stdout === undefined || error.killed) throw error;
      return { code: error.code, stdout: error.stdout, stderr: error.stderr };
    }
  }

  /** The process number of the daemon that last ran here. */
  daemonPid() {
    return JSON.parse(fs.readFileSync(path.join(this.env.PLIMSOLL_DATA_DIR, 'daemon.lock'), 'utf8')).pid;
  }

  /** What the daemon has logged. */
  log() {
    const logs = path.join(this.env.PLIMSOLL_DATA_DIR, 'logs');
    return fs.existsSync(logs) ? fs.readdirSync(logs).map((file) => fs.readFileSync(path.join(logs, file), 'utf8')).join('') : '';
  }

  async stop() {
    for (const child of this.children) child.kill('SIGKILL');
    const stopped = await this.run(binary, ['stop']);
    this.model.stop();
    const log = this.log();
    fs.rmSync(this.folder, { recursive: true, force: true });
    assert.ok([0, 3].includes(stopped.code), `the daemon could not be stopped: ${stopped.stderr}`);
    assert.deepEqual(this.model.violations, [], `requests without a step; the daemon's log:\n${log}`);
    assert.equal(this.model.steps.length, 0, `steps that no request took; the daemon's log:\n${log}`);
  }
}
