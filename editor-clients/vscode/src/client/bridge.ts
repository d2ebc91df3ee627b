// One running `plimsoll stdio`: a child process whose standard input and output carry JSON-RPC. It starts the daemon when
// none runs, and ends with us.

import { spawn } from 'node:child_process';
import {
  StreamMessageReader,
  StreamMessageWriter,
  createMessageConnection,
  type MessageConnection,
} from 'vscode-jsonrpc/node';

/** How long a bridge may take to end after its input has ended. */
const GOODBYE_MS = 2_000;
/** How much of what it said on standard error is kept. */
const STDERR_CHARS = 4_096;

/** Turns of the event loop without a message after which all that was received is handled; a message takes a few. */
const QUIET_TURNS = 20;

/** How a bridge ended. */
export interface Ended {
  /** Exit code; absent when it was killed or never ran. */
  code?: number;
  signal?: string;
  /** The program could not be started: the system's word for why, such as `ENOENT`. */
  unstarted?: string;
  /** What it said last on standard error. */
  said: string;
}

export interface Bridge {
  connection: MessageConnection;
  /** Resolves once, after the process is gone and everything that it had said was handled. */
  ended: Promise<Ended>;
  /** Ends it: politely first. */
  end(): void;
}

export interface BridgeOptions {
  program: string;
  /** Its working folder: the first root of the workspace. */
  cwd?: string;
  /** Where lines of its standard error go. */
  log(line: string): void;
}

/** Starts a bridge. That it could not be started is told by `ended`. */
export function startBridge(options: BridgeOptions): Bridge {
  const child = spawn(options.program, ['stdio'], {
    stdio: ['pipe', 'pipe', 'pipe'],
    windowsHide: true,
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-STDERR_CHARS);
    for (const line of text.split('\n')) if (line.trim() !== '') options.log(line.trimEnd());
  });
  // Writing to a process that has just ended fails; that it ended is told by `ended`.
  child.stdin.on('error', () => undefined);

  let handled = 0;
  const connection = createMessageConnection(
    new StreamMessageReader(child.stdout),
    new StreamMessageWriter(child.stdin),
    undefined,
    {
      messageStrategy: {
        handleMessage: (message, next) => {
          handled += 1;
          return next(message);
        },
      },
    },
  );
  const gone = new Promise<Ended>((resolve) => {
    let unstarted: string | undefined;
    child.on('error', (error: NodeJS.ErrnoException) => {
      if (child.pid !== undefined) return;
      unstarted = error.code ?? error.message;
      resolve({ unstarted, said });
    });
    child.on('close', (code, signal) => {
      if (unstarted !== undefined) return;
      resolve({ ...(code === null ? {} : { code }), ...(signal === null ? {} : { signal }), said: said.trim() });
    });
  });
  let killer: NodeJS.Timeout | undefined;
  const ended = gone.then(async (how) => {
    clearTimeout(killer);
    // Its last messages may still be in the queue, and a connection that is disposed of drops them.
    await quiet(() => handled);
    // Ends the calls that wait for an answer.
    connection.dispose();
    return how;
  });
  return {
    connection,
    ended,
    end: () => {
      child.stdin.end();
      killer ??= setTimeout(() => child.kill('SIGKILL'), GOODBYE_MS);
    },
  };
}

/** Waits until a count has stood still for a while. */
async function quiet(count: () => number): Promise<void> {
  for (let seen = count(), turns = 0; turns < QUIET_TURNS; turns += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    if (count() === seen) continue;
    seen = count();
    turns = 0;
  }
}
