// Bundles the extension (one file, for Node) and the chat's page (one script and one style sheet, for the webview).
//   node esbuild.mjs [--production] [--watch]
// With `--production` also the licences of everything that was bundled, for the package.

import * as esbuild from 'esbuild';
import fs from 'node:fs';
import path from 'node:path';

const production = process.argv.includes('--production');
const common = {
  bundle: true,
  minify: production,
  sourcemap: production ? false : 'linked',
  legalComments: production ? 'eof' : 'none',
  logLevel: 'warning',
  metafile: true,
};
const bundles = [
  {
    ...common,
    entryPoints: { extension: 'src/extension.ts' },
    outdir: 'dist',
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    external: ['vscode'],
  },
  {
    ...common,
    entryPoints: { webview: 'src/webview/main.ts' },
    outdir: 'dist',
    platform: 'browser',
    format: 'iife',
    target: 'es2022',
  },
];

/** The licences of the packages that these files come from. */
function licences(files) {
  const names = files.flatMap((file) => /^.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1] ?? []);
  const texts = [...new Set(names)].sort().map((name) => {
    const folder = path.join('node_modules', name);
    const { version, license } = JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8'));
    const file = fs.readdirSync(folder).find((file) => /^licen[cs]e/i.test(file));
    if (!file) throw new Error(`${folder} has no licence file`);
    return `${name} ${version} (${license})\n\n${fs.readFileSync(path.join(folder, file), 'utf8').trim()}\n`;
  });
  return texts.join(`\n${'-'.repeat(80)}\n\n`);
}

if (process.argv.includes('--watch')) {
  for (const bundle of bundles) await (await esbuild.context({ ...bundle, logLevel: 'info' })).watch();
} else {
  const built = await Promise.all(bundles.map((bundle) => esbuild.build(bundle)));
  if (production) {
    fs.writeFileSync('dist/licences.txt', licences(built.flatMap(({ metafile }) => Object.keys(metafile.inputs))));
    // vsce takes it from the extension's own folder.
    fs.copyFileSync('../../LICENSE', 'LICENSE.txt');
  }
}
