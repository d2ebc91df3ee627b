// The types of Plimsoll's native API, as they are made from its schema, under the names that are used here. Words of
// enumerations and tags are open: a newer daemon may say others.

import type * as wire from '../../../protocol/typescript/plimsoll';

export type {
  Ask,
  AskOption,
  Attachment,
  CallStatus,
  Change,
  EditorFile,
  Image,
  Item,
  Project,
  ServerInfo,
  SessionInfo,
  Todo,
  Usage,
} from '../../../protocol/typescript/plimsoll';

/** Where the key of a provider is, for turns of this client. */
export interface ProviderKey {
  provider: string;
  state: string;
  source?: string | null;
  variable?: string | null;
}

export interface ModelInfo {
  id: string;
  contextWindow: number;
  maxOutput: number;
  images: boolean;
  keyState: string;
}

type Methods = wire.Methods;
export type Method = keyof Methods;
export type Params<M extends Method> = Methods[M]['params'];
export type Result<M extends Method> = Methods[M]['result'];

export type SessionEvent = wire.SessionEvent;
export type EventOf<T extends SessionEvent['type']> = Extract<SessionEvent, { type: T }>;

/** What a tool knows about its result; `kind` says which of the other fields are there. */
export interface ResultData {
  kind: string;
  [field: string]: unknown;
}

/** Permission modes, from the least free, with what people are told about them. */
export const MODES: readonly { mode: string; about: string }[] = [
  { mode: 'plan', about: 'Looks and plans; changes nothing but its plan file' },
  { mode: 'ask', about: 'Asks before it changes a file, runs a command or looks outside the project' },
  { mode: 'accept_edits', about: 'Changes files in the project without asking; asks for the rest' },
  { mode: 'auto', about: 'Works without asking inside the sandbox, without network' },
  { mode: 'full', about: 'Asks nothing and has no limits on files and network' },
];
