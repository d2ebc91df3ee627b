// Tells the daemon which files are open and looked at: after a pause, and only when that is something else than before.

import * as vscode from 'vscode';
import type { EditorFile } from './protocol';

/** How long the editor must be still. */
const STILL_MS = 300;
/** Files that were viewed before and are remembered. */
const RECENT = 30;
/** The daemon takes 1,000; so many open tabs say nothing any more. */
const MOST = 200;

export class EditorState implements vscode.Disposable {
  private readonly disposables: vscode.Disposable[] = [];
  private timer: NodeJS.Timeout | undefined;
  private told = '';
  private recent: string[] = [];

  constructor(
    private readonly enabled: () => boolean,
    private readonly tell: (files: EditorFile[]) => void,
  ) {
    const soon = (): void => this.soon();
    this.disposables.push(
      vscode.window.onDidChangeActiveTextEditor(soon),
      vscode.window.onDidChangeVisibleTextEditors(soon),
      vscode.window.onDidChangeTextEditorSelection(soon),
      vscode.window.tabGroups.onDidChangeTabs(soon),
      vscode.workspace.onDidChangeTextDocument(soon),
      vscode.workspace.onDidSaveTextDocument(soon),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration('plimsoll.shareEditorState')) soon();
      }),
    );
    soon();
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const disposable of this.disposables) disposable.dispose();
  }

  private soon(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      const files = this.enabled() ? this.look() : [];
      const text = JSON.stringify(files);
      if (text === this.told || (this.told === '' && files.length === 0)) return;
      this.told = text;
      this.tell(files);
    }, STILL_MS);
  }

  private look(): EditorFile[] {
    const active = vscode.window.activeTextEditor;
    const focused = active && isFile(active.document) ? active.document.uri.fsPath : undefined;
    if (focused !== undefined) this.recent = [focused, ...this.recent.filter((file) => file !== focused)].slice(0, RECENT);
    const open = new Set<string>();
    for (const group of vscode.window.tabGroups.all) {
      for (const { input } of group.tabs) {
        if (input instanceof vscode.TabInputText && input.uri.scheme === 'file') open.add(input.uri.fsPath);
      }
    }
    const documents = new Map(vscode.workspace.textDocuments.filter(isFile).map((document) => [document.uri.fsPath, document]));
    const paths = [...new Set([...this.recent, ...open])].slice(0, MOST);
    return paths.map((path) => {
      const document = documents.get(path);
      const editor = vscode.window.visibleTextEditors.find((editor) => editor.document.uri.fsPath === path);
      return {
        path,
        open: open.has(path) || path === focused,
        focused: path === focused,
        unsaved: document?.isDirty ?? false,
        ...(document ? { totalLines: document.lineCount } : {}),
        ...(editor ? place(editor.selection) : {}),
      };
    });
  }
}

function isFile(document: vscode.TextDocument): boolean {
  return document.uri.scheme === 'file';
}

/** Lines from 1. A selection that ends at the beginning of a line does not hold that line. */
function place(selection: vscode.Selection): Pick<EditorFile, 'cursorLine' | 'selection'> {
  const cursorLine = selection.active.line + 1;
  return selection.isEmpty ? { cursorLine } : { cursorLine, selection: selectedLines(selection) };
}

export function selectedLines({ start, end }: vscode.Selection): { start: number; end: number } {
  const last = end.character === 0 && end.line > start.line ? end.line : end.line + 1;
  return { start: start.line + 1, end: last };
}
