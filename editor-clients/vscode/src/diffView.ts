// Shows one file of an edit in the editor's own diff view. What is compared are the two sides of the difference itself, as
// the daemon told it: the file on the disk may have changed since.

import * as vscode from 'vscode';

const SCHEME = 'plimsoll-diff';
/** Differences that are kept for the editors that show them. */
const KEPT = 50;

/** The two sides of a unified difference without file names: its lines, and between its parts what was left out. */
export function sides(diff: string): { before: string; after: string } {
  const before: string[] = [];
  const after: string[] = [];
  let parts = 0;
  for (const line of diff.split('\n')) {
    const text = line.slice(1);
    if (line.startsWith('@@')) {
      if (parts > 0) {
        before.push('⋯');
        after.push('⋯');
      }
      parts += 1;
    } else if (line.startsWith('-')) before.push(text);
    else if (line.startsWith('+')) after.push(text);
    else if (line.startsWith(' ')) {
      before.push(text);
      after.push(text);
    }
  }
  // Each line with its end, so that a new file is nothing on one side, and not an empty line.
  const text = (lines: string[]): string => lines.map((line) => `${line}\n`).join('');
  return { before: text(before), after: text(after) };
}

export class DiffView implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly texts = new Map<string, string>();
  private readonly registration: vscode.Disposable;
  private count = 0;

  constructor() {
    this.registration = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.query) ?? 'This difference is no longer kept; open it from the chat again.';
  }

  async open(path: string, diff: string): Promise<void> {
    const { before, after } = sides(diff);
    this.count += 1;
    const [left, right] = [this.keep(path, `${this.count}-before`, before), this.keep(path, `${this.count}-after`, after)];
    const name = path.split(/[\\/]/).at(-1) ?? path;
    await vscode.commands.executeCommand('vscode.diff', left, right, `${name} (Plimsoll)`, { preview: true });
  }

  dispose(): void {
    this.registration.dispose();
  }

  private keep(path: string, key: string, text: string): vscode.Uri {
    this.texts.set(key, text);
    for (const old of [...this.texts.keys()].slice(0, -2 * KEPT)) this.texts.delete(old);
    return vscode.Uri.from({ scheme: SCHEME, path: path.startsWith('/') ? path : `/${path}`, query: key });
  }
}
