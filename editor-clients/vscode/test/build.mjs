// Bundles the unit tests, with a fake `vscode` in the place of the editor's.

import * as esbuild from 'esbuild';
import fs from 'node:fs';

const tests = fs.readdirSync('test/unit').filter((file) => file.endsWith('.test.ts'));
fs.rmSync('dist-test', { recursive: true, force: true });
await esbuild.build({
  entryPoints: tests.map((file) => `test/unit/${file}`),
  outdir: 'dist-test',
  outExtension: { '.js': '.cjs' },
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node20',
  sourcemap: 'inline',
  logLevel: 'warning',
  loader: { '.css': 'empty' },
  alias: { vscode: './test/support/vscode.ts' },
});
