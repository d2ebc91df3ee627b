// A fake of the editor's module: as much as the extension uses, with a record of what was done.

type Listener<T> = (event: T) => unknown;

export class EventEmitter<T> {
  private listeners: Listener<T>[] = [];
  event = (listener: Listener<T>): { dispose(): void } => {
    this.listeners.push(listener);
    return { dispose: () => (this.listeners = this.listeners.filter((other) => other !== listener)) };
  };
  fire(event: T): void {
    for (const listener of this.listeners) listener(event);
  }
  get count(): number {
    return this.listeners.length;
  }
}

export class Uri {
  private constructor(
    readonly scheme: string,
    readonly path: string,
    readonly query = '',
  ) {}
  get fsPath(): string {
    return this.path;
  }
  static file = (path: string): Uri => new Uri('file', path);
  static parse = (text: string): Uri => new Uri(text.split(':')[0] ?? '', text);
  static from = ({ scheme, path, query }: { scheme: string; path: string; query?: string }): Uri => new Uri(scheme, path, query);
  static joinPath = (base: Uri, ...parts: string[]): Uri => new Uri(base.scheme, [base.path, ...parts].join('/'));
  toString(): string {
    return `${this.scheme}:${this.path}`;
  }
}

export class Range {
  constructor(
    readonly startLine: number,
    readonly startCharacter: number,
    readonly endLine: number,
    readonly endCharacter: number,
  ) {}
}
export class ThemeColor {
  constructor(readonly id: string) {}
}
export class ThemeIcon {
  constructor(readonly id: string) {}
}
export class TabInputText {
  constructor(readonly uri: Uri) {}
}
export enum StatusBarAlignment {
  Left = 1,
  Right = 2,
}

/** What a test sets and looks at. */
export const world = {
  settings: {} as Record<string, unknown>,
  commands: new Map<string, (...args: unknown[]) => unknown>(),
  executed: [] as unknown[][],
  messages: [] as string[],
  disposed: 0,
  provider: undefined as { resolveWebviewView(view: unknown): void } | undefined,
  status: { text: '', tooltip: '' } as Record<string, unknown>,
  tabsChanged: new EventEmitter<void>(),
  documentChanged: new EventEmitter<void>(),
  configured: new EventEmitter<{ affectsConfiguration(name: string): boolean }>(),
};

const disposable = (): { dispose(): void } => ({ dispose: () => (world.disposed += 1) });
const silent = new EventEmitter<never>();
const say = async (message: string): Promise<undefined> => void world.messages.push(message);

export const window = {
  activeTextEditor: undefined as unknown,
  visibleTextEditors: [] as unknown[],
  tabGroups: { all: [] as { tabs: { input: unknown }[] }[], onDidChangeTabs: world.tabsChanged.event },
  onDidChangeActiveTextEditor: silent.event,
  onDidChangeVisibleTextEditors: silent.event,
  onDidChangeTextEditorSelection: silent.event,
  createOutputChannel: () => ({ ...disposable(), info() {}, debug() {}, warn() {}, error() {}, show() {} }),
  createStatusBarItem: () => Object.assign(world.status, disposable(), { show() {} }),
  registerWebviewViewProvider: (_: string, provider: typeof world.provider) => {
    world.provider = provider;
    return disposable();
  },
  showErrorMessage: say,
  showInformationMessage: say,
  showWarningMessage: say,
};

export const workspace = {
  workspaceFolders: undefined as { uri: Uri }[] | undefined,
  textDocuments: [] as unknown[],
  onDidChangeWorkspaceFolders: silent.event,
  onDidChangeConfiguration: world.configured.event,
  onDidChangeTextDocument: world.documentChanged.event,
  onDidSaveTextDocument: silent.event,
  registerTextDocumentContentProvider: disposable,
  getConfiguration: () => ({ get: (name: string) => world.settings[name] }),
};

export const commands = {
  registerCommand: (name: string, run: (...args: unknown[]) => unknown) => {
    world.commands.set(name, run);
    return disposable();
  },
  executeCommand: async (...args: unknown[]) => void world.executed.push(args),
};

export const env = { clipboard: { writeText: async () => undefined }, openExternal: async () => true };
