// What a chat shows of one session. Plain data: it is made from events alone (reduce.ts), sent to the page as it is, and
// made again from nothing after a reload.

import type { Ask, CallStatus, Image, ResultData, Todo, Usage } from '../protocol';

/** A part of the conversation. An entry that changes is replaced by another object with the same `key`. */
export type Entry = UserEntry | TextEntry | ToolEntry | NoticeEntry | EndEntry;

export interface UserEntry {
  kind: 'user';
  key: string;
  turn: number;
  text: string;
  steering: boolean;
  images: readonly Image[];
}

export interface TextEntry {
  kind: 'assistant' | 'reasoning';
  key: string;
  turn: number;
  step: number;
  text: string;
  /** The stream ended before the model did. */
  cut: boolean;
  /** The block of the stream that it shows until its item comes. */
  live?: number;
  /** Bytes of `text` while it is streamed. */
  bytes?: number;
}

export interface ToolEntry {
  kind: 'tool';
  key: string;
  turn: number;
  call: string;
  tool: string;
  /** As the model wrote them: possibly not valid JSON. */
  arguments: string;
  /** One line for people; known once it was asked about or began. */
  title?: string;
  status: 'proposed' | 'asking' | 'running' | CallStatus;
  /** The end of what a running command printed. */
  output: string;
  /** Bytes of the output up to the end of `output`. */
  outputEnd: number;
  /** What the model sees of the result. */
  text?: string;
  data?: ResultData;
}

export interface NoticeEntry {
  kind: 'notice';
  key: string;
  turn: number;
  cause: string;
  text: string;
}

/** The end of a turn. */
export interface EndEntry {
  kind: 'end';
  key: string;
  turn: number;
  at?: number;
  stopReason: string;
  usage: Usage;
  cost?: number;
  unsettled: readonly string[];
  message?: string;
}

export interface SessionView {
  session: string;
  /** The last durable event that is in here; 0 before the first. */
  seq: number;
  title: string;
  mode: string;
  model: string;
  /** The session does not exist any more. */
  deleted: boolean;
  entries: readonly Entry[];
  /** The turn that runs, with its step. */
  running?: { turn: number; step: number };
  /** The conversation is being shortened for the model, and waits for it. */
  shortening?: boolean;
  /** Turns that wait behind it. */
  queued: readonly number[];
  /** Questions without an answer. */
  asks: readonly Ask[];
  todos: readonly Todo[];
  /** Of the last request. */
  load?: { tokens: number; window: number; load: number };
  /** Over all turns that have ended. */
  usage: Usage;
  /** Over these, as far as prices are known; absent when none is. */
  cost?: number;
  /** Blocks of the present step whose items have come, as `turn:step:block`. */
  settled: readonly string[];
}

/** A session of which nothing is known yet but its name. */
export function emptyView(session: string): SessionView {
  return {
    session,
    seq: 0,
    title: '',
    mode: '',
    model: '',
    deleted: false,
    entries: [],
    queued: [],
    asks: [],
    todos: [],
    usage: { input: 0, cacheRead: 0, cacheWrite: 0, output: 0 },
    settled: [],
  };
}
