// A real VS Code for one check: code-server with the packed extension, opened in a headless Chromium.

import { execFile, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';

const need = (name) => {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set; start these checks by test/run --e2e`);
  return value;
};
const { chromium } = createRequire(import.meta.url)(need('PLIMSOLL_E2E_PLAYWRIGHT'));

/** How long anything that must come is waited for. Generous: the computer may be busy. */
export const PATIENCE = 60_000;

/** Runs a check in a workbench on the workspace of `machine`; a picture is taken when it fails. */
export async function inWorkbench(machine, options, check) {
  const code = await Workbench.start(machine, options);
  try {
    await check(code);
  } catch (error) {
    await code.picture(`failed-${Date.now()}`).catch(() => undefined);
    throw error;
  } finally {
    // Before the machine stops: the extension would start its daemon again.
    await code.stop();
  }
}

class Workbench {
  /** Opens the workspace of `machine`; `settings` are the user's. */
  static async start(machine, { settings = {}, theme = 'Default Dark Modern', size = { width: 1200, height: 860 } } = {}) {
    const workbench = new Workbench();
    workbench.machine = machine;
    const folder = (name) => {
      const made = path.join(machine.folder, name);
      fs.mkdirSync(made, { recursive: true });
      return made;
    };
    const data = folder('code-data');
    const extensions = folder('code-extensions');
    // The user's, and those of the machine that the extension runs on, where the program's path is looked for.
    workbench.settings = ['User', 'Machine'].map((scope) => path.join(data, scope, 'settings.json'));
    for (const file of workbench.settings) fs.mkdirSync(path.dirname(file), { recursive: true });
    workbench.configure({
      'plimsoll.path': machine.binary,
      'workbench.colorTheme': theme,
      'workbench.startupEditor': 'none',
      'workbench.tips.enabled': false,
      'workbench.secondarySideBar.defaultVisibility': 'hidden',
      'chat.disableAIFeatures': true,
      'telemetry.telemetryLevel': 'off',
      ...settings,
    });
    const common = ['--user-data-dir', data, '--extensions-dir', extensions];
    const node = need('PLIMSOLL_E2E_NODE');
    const server = need('PLIMSOLL_E2E_CODE_SERVER');
    const env = { ...machine.env, PATH: `${path.dirname(node)}:${machine.env.PATH}` };
    // What users would install, not the folder of the sources.
    await promisify(execFile)(node, [server, ...common, '--install-extension', need('PLIMSOLL_E2E_VSIX')], { env, timeout: PATIENCE });
    const child = spawn(
      node,
      [
        server,
        ...common,
        '--auth', 'none',
        '--bind-addr', '127.0.0.1:0',
        '--disable-workspace-trust',
        '--disable-update-check',
        '--disable-telemetry',
        '--disable-getting-started-override',
        machine.work,
      ],
      { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true },
    );
    workbench.child = child;
    try {
      await workbench.#open(size);
    } catch (error) {
      await workbench.stop();
      throw error;
    }
    return workbench;
  }

  async #open({ width, height }) {
    this.url = await new Promise((resolve, reject) => {
      let said = '';
      const hear = (text) => {
        said += text;
        const url = /HTTP server listening on (http:\/\/[^\s/]+)/.exec(said)?.[1];
        if (url) resolve(url);
      };
      this.child.stdout.setEncoding('utf8').on('data', hear);
      this.child.stderr.setEncoding('utf8').on('data', hear);
      this.child.on('close', () => reject(new Error(`code-server ended:\n${said}`)));
    });
    this.browser = await chromium.launch({
      executablePath: need('PLIMSOLL_E2E_CHROMIUM'),
      args: ['--no-sandbox', '--disable-dev-shm-usage'],
    });
    this.page = await this.browser.newPage({ viewport: { width, height } });
    this.page.setDefaultTimeout(PATIENCE);
    this.page.on('console', (message) => {
      if (message.type() === 'error') this.faults.push(message.text());
    });
    await this.page.goto(`${this.url}/?folder=${encodeURIComponent(this.machine.work)}`);
    await this.page.locator('.monaco-workbench .activitybar').waitFor();
  }

  /** What the browser's console complained about. */
  faults = [];

  /** Sets the user's settings, all of them. */
  configure(settings) {
    this.values = { ...this.values, ...settings };
    for (const file of this.settings) fs.writeFileSync(file, JSON.stringify(this.values, null, 2));
  }

  /** The chat's page. */
  get chat() {
    return this.page.frameLocator('iframe.webview.ready').frameLocator('iframe#active-frame');
  }

  /** Opens the chat by its icon and waits for its page. */
  async openChat() {
    await this.page.locator('.activitybar .action-label[aria-label^="Plimsoll"]').click();
    await this.chat.locator('textarea').waitFor();
  }

  /** Runs a command of the palette by its title. */
  async run(title) {
    await this.page.keyboard.press('F1');
    const input = this.page.locator('.quick-input-widget input.input');
    await input.waitFor();
    await input.fill(`>${title}`);
    await this.page.locator('.quick-input-list .monaco-list-row').first().waitFor();
    await this.page.keyboard.press('Enter');
  }

  /** Takes a picture, when a folder for them is given. */
  async picture(name) {
    const folder = process.env.PLIMSOLL_E2E_PICTURES;
    if (!folder) return;
    fs.mkdirSync(folder, { recursive: true });
    await this.page.screenshot({ path: path.join(folder, `${name}.png`) });
  }

  async stop() {
    await this.browser?.close();
    try {
      // The server and what it started.
      process.kill(-this.child.pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
  }
}
