// Made by `node generate.mjs` from ../schema/plimsoll.schema.json: change the Rust types, not this file.
// schema: 230eb523de785bc3

/**
 * The version of the protocol that these types describe.
 */
export const PROTOCOL_VERSION = "1.0";

/**
 * The JSON-RPC code of each error kind.
 */
export const ERROR_CODES = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  cancelled: -32800,
  tooManySubscriptions: -32006,
  messageTooLarge: -32007,
  responseTooLarge: -32008,
  batchTooLong: -32010,
  notFound: -32020,
  workspaceMissing: -32021,
  busy: -32022,
  conflict: -32023,
  store: -32024,
  newerStore: -32025,
  config: -32026,
  authRequired: -32027,
  shuttingDown: -32028,
  incompatibleVersion: -32029,
  forbidden: -32030,
} as const;

/**
 * Parameters and result of every method.
 */
export interface Methods {
  "initialize": { params: InitializeParams; result: InitializeResult };
  "shutdown": { params: ShutdownParams; result: Done };
  "project/open": { params: ProjectOpenParams; result: Project };
  "project/list": { params: ProjectListParams; result: ProjectListResult };
  "project/relocate": { params: ProjectRelocateParams; result: Project };
  "project/trust": { params: ProjectTrustParams; result: Project };
  "session/create": { params: SessionCreateParams; result: SessionInfo };
  "session/list": { params: SessionListParams; result: SessionListResult };
  "session/get": { params: SessionGetParams; result: SessionInfo };
  "session/archive": { params: SessionArchiveParams; result: SessionInfo };
  "session/rename": { params: SessionRenameParams; result: SessionInfo };
  "session/setMode": { params: SessionSetModeParams; result: SessionInfo };
  "session/setModel": { params: SessionSetModelParams; result: SessionInfo };
  "session/delete": { params: SessionDeleteParams; result: Done };
  "session/fork": { params: SessionForkParams; result: SessionInfo };
  "session/rewind": { params: SessionRewindParams; result: SessionInfo };
  "session/export": { params: SessionExportParams; result: SessionExportResult };
  "session/import": { params: SessionImportParams; result: SessionInfo };
  "session/attach": { params: SessionAttachParams; result: string };
  "session/detach": { params: SessionDetachParams; result: boolean };
  "transcript/read": { params: TranscriptReadParams; result: Page };
  "transcript/search": { params: TranscriptSearchParams; result: TranscriptSearchResult };
  "transcript/rebuild": { params: TranscriptRebuildParams; result: TranscriptRebuildResult };
  "turn/start": { params: TurnStartParams; result: AcceptedTurn };
  "turn/steer": { params: TurnSteerParams; result: Done };
  "turn/cancel": { params: TurnCancelParams; result: Done };
  "turn/continue": { params: TurnContinueParams; result: AcceptedTurn };
  "permission/respond": { params: PermissionRespondParams; result: PermissionRespondResult };
  "permission/grants": { params: PermissionGrantsParams; result: PermissionGrantsResult };
  "permission/revoke": { params: PermissionRevokeParams; result: Done };
  "memory/list": { params: MemoryListParams; result: MemoryListResult };
  "memory/get": { params: MemoryGetParams; result: MemoryGetResult };
  "memory/put": { params: MemoryPutParams; result: Memory };
  "memory/delete": { params: MemoryDeleteParams; result: Done };
  "rule/list": { params: RuleListParams; result: RuleListResult };
  "skill/list": { params: SkillListParams; result: SkillListResult };
  "prompt/list": { params: PromptListParams; result: PromptListResult };
  "todo/get": { params: TodoGetParams; result: TodoGetResult };
  "task/get": { params: TaskGetParams; result: TaskState };
  "task/set": { params: TaskSetParams; result: TaskState };
  "evidence/get": { params: EvidenceGetParams; result: Evidence };
  "checkpoint/list": { params: CheckpointListParams; result: CheckpointListResult };
  "checkpoint/diff": { params: CheckpointDiffParams; result: CheckpointDiffResult };
  "checkpoint/restore": { params: CheckpointRestoreParams; result: CheckpointRestoreResult };
  "operation/list": { params: OperationListParams; result: OperationListResult };
  "operation/inspect": { params: OperationInspectParams; result: Operation };
  "operation/resolve": { params: OperationResolveParams; result: Operation };
  "context/inspect": { params: ContextInspectParams; result: Inspection };
  "context/compact": { params: ContextCompactParams; result: ContextCompactResult };
  "context/preview": { params: ContextPreviewParams; result: Inspection };
  "request/list": { params: RequestListParams; result: RequestListResult };
  "request/get": { params: RequestGetParams; result: RequestGetResult };
  "request/replay": { params: RequestReplayParams; result: RequestReplayResult };
  "request/projections": { params: RequestProjectionsParams; result: RequestProjectionsResult };
  "config/get": { params: ConfigGetParams; result: ConfigGetResult };
  "config/set": { params: ConfigSetParams; result: ConfigSetResult };
  "model/list": { params: ModelListParams; result: ModelListResult };
  "auth/status": { params: AuthStatusParams; result: AuthStatusResult };
  "auth/set": { params: AuthSetParams; result: ProviderKey };
  "editor/state": { params: EditorStateParams; result: Done };
  "daemon/status": { params: DaemonStatusParams; result: DaemonStatus };
  "daemon/stop": { params: DaemonStopParams; result: Done };
}

/**
 * The name of a method.
 */
export type MethodName = keyof Methods;

/**
 * Parameters of a method.
 */
export type ParamsOf<M extends MethodName> = Methods[M]["params"];

/**
 * Result of a method.
 */
export type ResultOf<M extends MethodName> = Methods[M]["result"];

/**
 * Parameters of every notification that the daemon sends.
 */
export interface Notifications {
  "session/event": { subscription: string; result: SessionEvent };
}

/**
 * The tag of an event. A newer daemon may send others: ignore them, but count their `seq`.
 */
export type EventType = SessionEvent["type"];

/**
 * An event of one type.
 */
export type EventOf<T extends EventType> = Extract<SessionEvent, { type: T }>;

/**
 * The tag of an item. A newer daemon may send others: ignore them.
 */
export type ItemKind = Item["kind"];

/**
 * An item of one kind.
 */
export type ItemOf<K extends ItemKind> = Extract<Item, { kind: K }>;

/**
 * A version, printed `major.minor`.
 */
export type Version = string;
/**
 * What a session does.
 */
export type SessionState = "idle" | "running" | "waiting" | "interrupted" | (string & {});
/**
 * The kinds of answers that are offered.
 */
export type OfferedChoice = Choice | (string & {});
/**
 * An answer.
 */
export type Choice = "allowOnce" | "allowSession" | "allowAlways" | "reject";
/**
 * How a question ended.
 */
export type Resolution =
  | {
      type: "answered";
      /**
       * The choice.
       */
      choice: OfferedChoice;
      /**
       * What the user said to a rejection.
       */
      advice?: string | null;
    }
  | {
      type: "void";
    };
/**
 * Whether archived sessions are listed.
 */
export type Archived = "no" | "only" | "also";
/**
 * The form of an export.
 */
export type ExportFormat = "jsonl" | "markdown";
/**
 * One record of the transcript.
 */
export type Item = {
  /**
   * Its number in the session, from 1 without gaps.
   */
  no: number;
  /**
   * The turn it belongs to; 0 for what stands before the first.
   */
  turn: number;
  /**
   * The step of the turn; 0 for what stands before the first model request of the turn.
   */
  step: number;
  /**
   * When it was made.
   */
  at: number;
  /**
   * The model does not see it any more: the conversation went back to before it.
   */
  outOfView?: boolean;
} & (
  | {
      kind: "user";
      /**
       * Verbatim.
       */
      text: string;
      /**
       * The data about the workspace that was sent to the model with it.
       */
      additionalData?: string;
      /**
       * It joined a running turn.
       */
      steering: boolean;
      /**
       * Images that were put beside it, without their content.
       */
      images?: Image[];
    }
  | {
      kind: "meta";
      /**
       * Why, such as `continueCut` or `interrupted`.
       */
      cause: string;
      /**
       * The text.
       */
      text: string;
    }
  | {
      kind: "assistant";
      /**
       * Verbatim.
       */
      text: string;
      /**
       * The stream ended before the model did.
       */
      cut: boolean;
    }
  | {
      kind: "reasoning";
      /**
       * Readable text; empty when the provider gives none.
       */
      text: string;
    }
  | {
      kind: "toolCall";
      /**
       * Its id, such as `c7`.
       */
      call: string;
      /**
       * The tool's name as the model wrote it.
       */
      tool: string;
      /**
       * The arguments as the model wrote them, possibly not valid JSON.
       */
      arguments: string;
    }
  | {
      kind: "toolResult";
      /**
       * The call it answers.
       */
      call: string;
      /**
       * The tool's name.
       */
      tool: string;
      /**
       * How the call ended.
       */
      status: CallStatus;
      /**
       * The text that the model sees of it; absent when it has none yet.
       */
      text?: string | null;
      /**
       * What the tool knows about its result; `data.kind` says which shape it has. The reference lists the shapes.
       */
      data?: unknown;
      /**
       * The project's revision when the call ended, such as `r42`.
       */
      revision: string;
      /**
       * Whether that revision is approximate.
       */
      approximate: boolean;
    }
  | {
      kind: "observation";
      /**
       * What the model reads before them.
       */
      text: string;
      /**
       * The calls whose results hold them.
       */
      calls: string[];
    }
  | {
      kind: "notice";
      /**
       * What kind of thing happened, such as `retry` or `crash`.
       */
      cause: string;
      /**
       * For people.
       */
      text: string;
    }
  | {
      kind: "rewind";
      /**
       * The first turn that left it.
       */
      before: number;
      /**
       * The first item that left it.
       */
      from: number;
    }
);
/**
 * How a call ended.
 */
export type CallStatus = "ok" | "failed" | "denied" | "cancelled" | "unknown" | (string & {});
/**
 * What to do when a turn already runs.
 */
export type WhenBusy = "queue" | "refuse";
/**
 * Something beside a prompt's text.
 */
export type Attachment =
  | {
      kind: "file";
      /**
       * Absolute path, or one relative to the project's first root.
       */
      path: string;
      /**
       * The lines that are meant; absent: all of them.
       */
      lines?: LineRange | null;
    }
  | {
      kind: "text";
      /**
       * What it is called, such as a path.
       */
      name: string;
      /**
       * The text.
       */
      text: string;
    }
  | {
      kind: "image";
      /**
       * What it is called.
       */
      name?: string | null;
      /**
       * Media type, such as `image/png`.
       */
      mimeType: string;
      /**
       * Base64.
       */
      data: string;
    }
  | {
      kind: "session";
      /**
       * Its id.
       */
      session: string;
    };
/**
 * For whom something is remembered.
 */
export type MemoryScope = "project" | "user";
/**
 * When a rule is in force.
 */
export type RuleApplies = "always" | "touched" | "asked" | (string & {});
/**
 * Whose text it is.
 */
export type TextSource = "builtIn" | "own" | (string & {});
/**
 * States of a todo.
 */
export type TodoStatus = "pending" | "inProgress" | "completed" | "cancelled" | (string & {});
/**
 * What became of a hypothesis.
 */
export type HypothesisStatus = "open" | "confirmed" | "refuted" | (string & {});
/**
 * How far the work is.
 */
export type Phase = "investigate" | "implement" | "verify" | "done" | (string & {});
/**
 * How a file stands beside the version that was shown.
 */
export type FileNow = "same" | "changed" | "gone" | "unknown" | (string & {});
/**
 * Whether something can be undone now.
 */
export type RestorableState = "ready" | "alreadySo" | "blocked" | (string & {});
/**
 * What restoring a file means.
 */
export type RestoreAction = "write" | "create" | "link" | "delete" | "none" | (string & {});
/**
 * Whether a file may be restored.
 */
export type FileVerdict = "ready" | "alreadySo" | "later" | "changed" | "unclear" | "lost" | "failed" | (string & {});
/**
 * What came of an undo.
 */
export type RestoreState = "done" | "planned" | "refused" | "nothing" | (string & {});
/**
 * Where an operation stands.
 */
export type OperationState =
  "proposed" | "denied" | "approved" | "running" | "succeeded" | "failed" | "cancelled" | "unknown" | (string & {});
/**
 * What evidence, or the user, says of an operation.
 */
export type Verdict = "applied" | "notApplied" | "partlyApplied" | "changed" | "cannotTell" | (string & {});
/**
 * Who found something out.
 */
export type FoundBy = "recovery" | "inspection" | "user" | "later" | (string & {});
/**
 * What a file holds, beside what an operation was to make of it.
 */
export type Stands = "after" | "before" | "other" | "unreadable" | (string & {});
/**
 * What the user says became of an operation.
 */
export type Resolution2 = "applied" | "notApplied" | "accepted";
/**
 * Which request is inspected.
 */
export type InspectedOf = "next" | "last" | (string & {});
/**
 * A key. It is never shown.
 */
export type Key = string;
/**
 * An event with its place.
 */
export type SessionEvent = {
  /**
   * The session.
   */
  session: string;
  /**
   * Its number, for durable events.
   */
  seq?: number | null;
  /**
   * When it happened, for durable events.
   */
  at?: number | null;
} & (
  | {
      type: "turnStarted";
      /**
       * The turn.
       */
      turn: number;
    }
  | {
      type: "turnQueued";
      /**
       * The turn that it will be.
       */
      turn: number;
    }
  | {
      type: "itemAdded";
      /**
       * The item.
       */
      item: Item;
    }
  | {
      type: "permissionAsked";
      /**
       * The question. It carries its resolution when it is already answered.
       */
      ask: Ask;
    }
  | {
      type: "permissionResolved";
      /**
       * The question with its resolution.
       */
      ask: Ask;
    }
  | {
      type: "toolStarted";
      /**
       * The call.
       */
      call: string;
      /**
       * One line for people.
       */
      title: string;
    }
  | {
      type: "taskEnded";
      /**
       * The call that started it.
       */
      call: string;
      /**
       * How, as in the data of a command's result; absent when that was not seen.
       */
      exit?: unknown;
      /**
       * Wall time in milliseconds; 0 when the end was not seen.
       */
      durationMs: number;
    }
  | {
      type: "toolOutput";
      /**
       * The call.
       */
      call: string;
      /**
       * Bytes of its output before `text`.
       */
      offset: number;
      /**
       * What was printed.
       */
      text: string;
    }
  | {
      type: "textDelta";
      /**
       * The turn.
       */
      turn: number;
      /**
       * The step.
       */
      step: number;
      /**
       * The block within the step, from 0.
       */
      block: number;
      /**
       * Bytes of the block before `text`.
       */
      offset: number;
      /**
       * What is appended.
       */
      text: string;
    }
  | {
      type: "reasoningDelta";
      /**
       * The turn.
       */
      turn: number;
      /**
       * The step.
       */
      step: number;
      /**
       * The block within the step, from 0.
       */
      block: number;
      /**
       * Bytes of the block before `text`.
       */
      offset: number;
      /**
       * What is appended.
       */
      text: string;
    }
  | {
      type: "planChanged";
      /**
       * The call that changed it.
       */
      call: string;
      /**
       * The list.
       */
      todos: Todo[];
    }
  | {
      type: "stepStarted";
      /**
       * The turn.
       */
      turn: number;
      /**
       * The step.
       */
      step: number;
      /**
       * Estimated tokens of the request.
       */
      tokens: number;
      /**
       * Tokens that the model's window has.
       */
      window: number;
      /**
       * `tokens` / `window`; 0 when the window is not known.
       */
      load: number;
    }
  | {
      type: "stepCompleted";
      /**
       * The turn.
       */
      turn: number;
      /**
       * The step.
       */
      step: number;
      /**
       * What the provider reported.
       */
      usage?: Usage | null;
    }
  | {
      type: "turnCompleted";
      /**
       * The turn.
       */
      turn: number;
      /**
       * Why.
       */
      stopReason: StopReason;
      /**
       * Tokens of all its requests.
       */
      usage: Usage;
      /**
       * Price in US dollars; absent when a price is not known.
       */
      cost?: number | null;
      /**
       * Calls of this session whose outcome is unknown.
       */
      unsettled: string[];
      /**
       * For people, when the end was not a good one.
       */
      message?: string | null;
      /**
       * Files that the turn's calls changed: absolute paths, each once.
       */
      files?: string[];
      /**
       * The session's last test run; absent when there was none.
       */
      verification?: Verified | null;
    }
  | {
      type: "operationChanged";
      /**
       * Its call.
       */
      call: string;
    }
  | {
      type: "taskChanged";
    }
  | {
      type: "compactionStarted";
      /**
       * Why: `load`, `manual`, `turns`, `tooLong`, `modelChanged` or `cold`; there may be others.
       */
      cause: string;
    }
  | {
      type: "compactionFinished";
      /**
       * The epoch that it opened.
       */
      epoch?: number | null;
      /**
       * What was done, in this order: `snip` (old results are cut), `prune` (old turns are a line each), `summarize`.
       */
      levels?: string[];
      /**
       * Tokens of the next request before it.
       */
      before?: number | null;
      /**
       * And after it, estimated.
       */
      after?: number | null;
      /**
       * The difference.
       */
      freed?: number | null;
      /**
       * What the model can take at a load of 1.
       */
      usable?: number | null;
      /**
       * Tokens in the provider's cache that are of no use any more.
       */
      givenUp?: number | null;
      /**
       * Where a summary that was written is from: `fork` (the session's model, on its own prefix), `independent` (a call of
       * its own) or `host` (the store alone).
       */
      summary?: string | null;
      /**
       * Milliseconds that the conversation stood still for it.
       */
      waitedMs?: number | null;
      /**
       * For people: why nothing was shortened.
       */
      message?: string | null;
    }
  | {
      type: "sessionChanged";
      /**
       * The session as it is now; absent when it was deleted meanwhile.
       */
      info?: SessionInfo | null;
    }
  | {
      type: "restartPending";
      /**
       * The build, where it is known.
       */
      build?: string | null;
    }
  | {
      type: "closed";
      /**
       * Why.
       */
      reason: CloseReason;
      /**
       * The same for people.
       */
      message: string;
    }
);
/**
 * Why a turn ended.
 */
export type StopReason =
  | "endTurn"
  | "maxTokens"
  | "maxSteps"
  | "limit"
  | "refusal"
  | "cancelled"
  | "modelError"
  | "storeError"
  | "crashed"
  | "internal"
  | (string & {});
/**
 * Why a subscription ended.
 */
export type CloseReason =
  "daemonStopped" | "daemonEnds" | "sessionDeleted" | "sessionEnded" | "storeFailed" | (string & {});
/**
 * What went wrong.
 */
export type ErrorKind =
  | "parseError"
  | "invalidRequest"
  | "methodNotFound"
  | "invalidParams"
  | "internal"
  | "cancelled"
  | "tooManySubscriptions"
  | "messageTooLarge"
  | "responseTooLarge"
  | "batchTooLong"
  | "notFound"
  | "workspaceMissing"
  | "busy"
  | "conflict"
  | "store"
  | "newerStore"
  | "config"
  | "authRequired"
  | "shuttingDown"
  | "incompatibleVersion"
  | "forbidden"
  | (string & {});
/**
 * Marks a [`Hello`].
 */
export type HelloMark = "hello";
/**
 * What a connection speaks.
 */
export type Facade = "native" | "acp";
/**
 * Marks a [`Welcome`].
 */
export type WelcomeMark = "welcome";

/**
 * Parameters of `initialize`.
 */
export interface InitializeParams {
  /**
   * Who calls.
   */
  clientInfo: ClientInfo;
  /**
   * The protocol version that the client was written for.
   */
  protocolVersion: Version;
  /**
   * What the client can do.
   */
  capabilities?: ClientCapabilities | null;
  /**
   * What counts for this connection over the user's and a project's files and the environment.
   */
  options?: ClientOptions | null;
}
/**
 * A program, for logs and for people.
 */
export interface ClientInfo {
  /**
   * Its name, such as `plimsoll.nvim`.
   */
  name: string;
  /**
   * Its version.
   */
  version?: string | null;
}
/**
 * What a client can do beyond this version's base. Nothing yet; unknown fields are ignored.
 */
export interface ClientCapabilities {}
/**
 * What a client asks for: over the configuration files and the `PLIMSOLL_*` variables, below parameters of single calls and
 * what an administrator has set.
 */
export interface ClientOptions {
  /**
   * Model of new sessions as `provider/model`.
   */
  model?: string | null;
  /**
   * Permission mode of new sessions.
   */
  mode?: string | null;
  /**
   * Language of answers.
   */
  language?: string | null;
  /**
   * Model requests in one turn after which the user is asked.
   */
  maxSteps?: number | null;
}
/**
 * Result of `initialize`.
 */
export interface InitializeResult {
  /**
   * The daemon.
   */
  serverInfo: ServerInfo;
  /**
   * The version that the daemon speaks: the same major, possibly another minor.
   */
  protocolVersion: Version;
  /**
   * What the daemon allows.
   */
  capabilities: ServerCapabilities;
}
/**
 * The daemon.
 */
export interface ServerInfo {
  /**
   * Always `plimsoll`.
   */
  name: string;
  /**
   * Its version.
   */
  version: string;
  /**
   * The build; two builds of one version differ in it.
   */
  build: string;
  /**
   * Its process.
   */
  pid: number;
}
/**
 * What this daemon offers, and what it allows on a connection.
 */
export interface ServerCapabilities {
  /**
   * The longest message in bytes, either way.
   */
  maxMessageBytes: number;
  /**
   * The most entries of a batch.
   */
  maxBatch: number;
  /**
   * The most subscriptions at a time.
   */
  maxSubscriptions: number;
  /**
   * Calls that run at a time; further ones wait in the socket.
   */
  maxInFlight: number;
  /**
   * The methods that this daemon has, by name: what is not among them came with a later version.
   */
  methods?: string[];
}
/**
 * Parameters of `shutdown`.
 */
export interface ShutdownParams {}
/**
 * The answer of a method that has nothing to say. Fields may be added later.
 */
export interface Done {}
/**
 * Parameters of `project/open`.
 */
export interface ProjectOpenParams {
  /**
   * Absolute paths of existing folders; the first names the project. What it has beside them stays.
   *
   * @minItems 1
   */
  roots: [string, ...string[]];
  /**
   * The client's key for this call.
   */
  idempotencyKey?: string | null;
}
/**
 * A project.
 */
export interface Project {
  /**
   * Its key, for other calls.
   */
  key: string;
  /**
   * Canonical absolute paths of its roots; the first names it.
   */
  roots: string[];
  /**
   * When it was first opened.
   */
  createdAt: number;
  /**
   * Whether the user trusts it, so that its own programs may run where the mode says so. Absent: not.
   */
  trusted?: boolean;
}
/**
 * Parameters of `project/list`: none.
 */
export interface ProjectListParams {}
/**
 * Result of `project/list`: oldest first.
 */
export interface ProjectListResult {
  /**
   * The projects.
   */
  projects: Project[];
}
/**
 * Parameters of `project/relocate`.
 */
export interface ProjectRelocateParams {
  /**
   * Key of the project.
   */
  project: string;
  /**
   * Absolute paths of existing folders that take the place of its roots; the first names it.
   *
   * @minItems 1
   */
  roots: [string, ...string[]];
  /**
   * The client's key for this call.
   */
  idempotencyKey?: string | null;
}
/**
 * Parameters of `project/trust`.
 */
export interface ProjectTrustParams {
  /**
   * Key of the project.
   */
  project: string;
  /**
   * Whether the user trusts it.
   */
  trusted: boolean;
  /**
   * The client's key for this call.
   */
  idempotencyKey?: string | null;
}
/**
 * Parameters of `session/create`.
 */
export interface SessionCreateParams {
  /**
   * Key of the project, from `project/open`.
   */
  project: string;
  /**
   * A title; absent: taken from the first prompt.
   */
  title?: string | null;
  /**
   * Permission mode: `plan`, `ask`, `accept_edits`, `auto` or `full`; absent: from the configuration.
   */
  mode?: string | null;
  /**
   * Model as `provider/model`; absent: from the configuration.
   */
  model?: string | null;
  /**
   * Takes the place of the sentence that says what the agent is, and stays; absent: from the configuration.
   */
  basePrompt?: string | null;
  /**
   * The client's key for this call; the same key again gives the same session.
   */
  idempotencyKey?: string | null;
}
/**
 * A session as lists show it.
 */
export interface SessionInfo {
  /**
   * Its id.
   */
  id: string;
  /**
   * Key of the project.
   */
  project: string;
  /**
   * Canonical absolute paths of the project's roots.
   */
  roots: string[];
  /**
   * Its title; empty until it has one.
   */
  title: string;
  /**
   * When it was made.
   */
  createdAt: number;
  /**
   * When something last happened in it.
   */
  updatedAt: number;
  /**
   * What it does now.
   */
  state: SessionState;
  /**
   * Items in its transcript, which is the number of the last one.
   */
  items: number;
  /**
   * Its newest durable event.
   */
  lastSeq: number;
  /**
   * Permission mode: `plan`, `ask`, `accept_edits`, `auto` or `full`.
   */
  mode: string;
  /**
   * Model as `provider/model`.
   */
  model: string;
  /**
   * Questions that wait for an answer.
   */
  openAsks: Ask[];
  /**
   * The session that it was forked from.
   */
  forkedFrom?: Origin | null;
  /**
   * The session whose export it was made of.
   */
  importedFrom?: Origin | null;
  /**
   * Lists leave it out unless they are asked for it. Absent: not.
   */
  archived?: boolean;
  /**
   * A root of its project is not there: turns are refused until it is back, or the project is relocated. Absent: not.
   */
  workspaceMissing?: boolean;
}
/**
 * A question, open until it is answered.
 */
export interface Ask {
  /**
   * Its id, such as `a3`.
   */
  id: string;
  /**
   * The call it is about, such as `c7`.
   */
  call: string;
  /**
   * The turn.
   */
  turn: number;
  /**
   * When it was asked.
   */
  at: number;
  /**
   * The tool's name.
   */
  tool: string;
  /**
   * One line for people: what will happen when it is allowed.
   */
  title: string;
  /**
   * The command, where it is one.
   */
  command?: string | null;
  /**
   * Canonical paths it is about.
   */
  paths: string[];
  /**
   * For edits: what would become of each file.
   */
  changes?: Change[];
  /**
   * For a plan that is handed in: its text, in Markdown.
   */
  plan?: string | null;
  /**
   * Why it is asked.
   */
  reason: string;
  /**
   * The answers offered.
   */
  options: AskOption[];
  /**
   * How it was resolved; absent while it is open.
   */
  resolution?: Resolution | null;
}
/**
 * What an edit does to one file.
 */
export interface Change {
  /**
   * Canonical path.
   */
  path: string;
  /**
   * Version before; absent when nothing is there.
   */
  before?: string | null;
  /**
   * Version after; absent when it is deleted.
   */
  after?: string | null;
  /**
   * Unified diff without its two lines of file names.
   */
  diff: string;
  /**
   * Lines added.
   */
  added: number;
  /**
   * Lines removed.
   */
  removed: number;
  /**
   * Lines of the diff that were left out at its end.
   */
  cut: number;
}
/**
 * An answer that is offered.
 */
export interface AskOption {
  /**
   * What it means.
   */
  kind: OfferedChoice;
  /**
   * For people. A choice that lasts says exactly what it stores.
   */
  label: string;
  /**
   * The rules that a choice that lasts stores, such as `run_terminal_cmd(cargo test *)`.
   */
  rules?: string[];
}
/**
 * Where a session comes from that did not begin empty.
 */
export interface Origin {
  /**
   * The other session, which may be gone; of an import, its id where it was exported.
   */
  session: string;
  /**
   * The last item that is shared with it; 0 when none is.
   */
  item: number;
}
/**
 * Parameters of `session/list`.
 */
export interface SessionListParams {
  /**
   * Of one project only.
   */
  project?: string | null;
  /**
   * Words that all stand in the title, in any case and order.
   */
  query?: string | null;
  /**
   * In one of these states only; absent or empty: in any.
   */
  states?: SessionState[] | null;
  /**
   * Whether archived sessions are listed; absent: `no`.
   */
  archived?: Archived | null;
  /**
   * `nextCursor` of the page before.
   */
  cursor?: string | null;
  /**
   * At most this many, 1 to 500; absent: 50.
   */
  limit?: number | null;
}
/**
 * Result of `session/list`: newest first.
 */
export interface SessionListResult {
  /**
   * The sessions.
   */
  sessions: SessionInfo[];
  /**
   * Where the next page begins; absent at the end.
   */
  nextCursor?: string | null;
}
/**
 * Parameters of `session/get`.
 */
export interface SessionGetParams {
  /**
   * The session.
   */
  session: string;
}
/**
 * Parameters of `session/archive`.
 */
export interface SessionArchiveParams {
  /**
   * The session.
   */
  session: string;
  /**
   * Whether lists leave it out from now on.
   */
  archived: boolean;
  /**
   * The client's key for this call.
   */
  idempotencyKey?: string | null;
}
/**
 * Parameters of `session/rename`.
 */
export interface SessionRenameParams {
  /**
   * The session.
   */
  session: string;
  /**
   * The new title.
   */
  title: string;
  /**
   * The client's key for this call.
   */
  idempotencyKey?: string | null;
}
/**
 * Parameters of `session/setMode`.
 */
export interface SessionSetModeParams {
  /**
   * The session.
   */
  session: string;
  /**
   * The new mode: `plan`, `ask`, `accept_edits`, `auto` or `full`.
   */
  mode: string;
  /**
   * The client's key for this call.
   */
  idempotencyKey?: string | null;
}
/**
 * Parameters of `session/setModel`.
 */
export interface SessionSetModelParams {
  /**
   * The session.
   */
  session: string;
  /**
   * The new model as `provider/model`.
   */
  model: string;
  /**
   * The client's key for this call.
   */
  idempotencyKey?: string | null;
}
/**
 * Parameters of `session/delete`.
 */
export interface SessionDeleteParams {
  /**
   * The session; one that does not exist is no error.
   */
  session: string;
  /**
   * The client's key for this call.
   */
  idempotencyKey?: string | null;
}
/**
 * Parameters of `session/fork`.
 */
export interface SessionForkParams {
  /**
   * The session.
   */
  session: string;
  /**
   * The last item to share, at most; absent: all that is settled.
   */
  item?: number | null;
  /**
   * A title; absent: the session's own with `(fork)` behind it.
   */
  title?: string | null;
  /**
   * The client's key for this call; the same key again gives the same session.
   */
  idempotencyKey?: string | null;
}
/**
 * Parameters of `session/rewind`.
 */
export interface SessionRewindParams {
  /**
   * The session.
   */
  session: string;
  /**
   * The first turn that leaves the model's view; all later ones leave it too.
   */
  turn: number;
  /**
   * Undo what these turns wrote, before they leave. When a file cannot simply be restored, nothing is changed.
   */
  files?: boolean | null;
  /**
   * With `files`: leave out the files that cannot simply be restored.
   */
  skip?: boolean | null;
  /**
   * The client's key for this call.
   */
  idempotencyKey?: string | null;
}
/**
 * Parameters of `session/export`.
 */
export interface SessionExportParams {
  /**
   * The session.
   */
  session: string;
  /**
   * The form.
   */
  format: ExportFormat;
  /**
   * `nextOffset` of the page before; absent: 0, the beginning.
   */
  offset?: number | null;
  /**
   * Bytes of the page, 1 to 4,194,304; absent: 1,048,576.
   */
  limit?: number | null;
}
/**
 * Result of `session/export`: a page.
 */
export interface SessionExportResult {
  /**
   * The text.
   */
  text: string;
  /**
   * Where it begins in the whole export, in bytes.
   */
  offset: number;
  /**
   * Its bytes.
   */
  bytes: number;
  /**
   * Where the next page begins; absent at the end.
   */
  nextOffset?: number | null;
}
/**
 * Parameters of `session/import`.
 */
export interface SessionImportParams {
  /**
   * Key of the project that the session will belong to.
   */
  project: string;
  /**
   * An export in the form `jsonl`, whole.
   */
  data: string;
  /**
   * The client's key for this call; the same key again gives the same session.
   */
  idempotencyKey?: string | null;
}
/**
 * Parameters of `session/attach`.
 */
export interface SessionAttachParams {
  /**
   * The session.
   */
  session: string;
  /**
   * `seq` of the last event that the client has; absent or 0: from the first event on.
   */
  after?: number | null;
}
/**
 * Parameters of `session/detach`.
 */
export interface SessionDetachParams {
  /**
   * What `session/attach` answered.
   */
  subscription: string;
}
/**
 * Parameters of `transcript/read`. With neither `after` nor `before`: the last items.
 */
export interface TranscriptReadParams {
  /**
   * The session.
   */
  session: string;
  /**
   * Items after this number.
   */
  after?: number | null;
  /**
   * Items before this number; not together with `after`.
   */
  before?: number | null;
  /**
   * At most this many, 1 to 1,000; absent: 100.
   */
  limit?: number | null;
}
/**
 * Result of `transcript/read`.
 */
export interface Page {
  /**
   * Items, ascending. Fewer than asked when they would be too long for one message: go on from the last (or first)
   * one that came.
   */
  items: Item[];
  /**
   * Number of the session's last item; 0 when it has none.
   */
  last: number;
}
/**
 * An image, without its content.
 */
export interface Image {
  /**
   * What it is called; may be empty.
   */
  name: string;
  /**
   * Media type, such as `image/png`.
   */
  mimeType: string;
  /**
   * Width in pixels.
   */
  width: number;
  /**
   * Height in pixels.
   */
  height: number;
  /**
   * Size in bytes.
   */
  bytes: number;
  /**
   * Content hash: BLAKE3, its first 128 bits in hexadecimal digits.
   */
  hash: string;
}
/**
 * Parameters of `transcript/search`. With neither `session` nor `project`: in all sessions.
 */
export interface TranscriptSearchParams {
  /**
   * Words that all stand in an item, in any case and order; 1 to 16 of them.
   */
  query: string;
  /**
   * In this session only.
   */
  session?: string | null;
  /**
   * In the sessions of this project only; not together with `session`.
   */
  project?: string | null;
  /**
   * In items of these kinds only; absent: all that belong to the conversation, so neither `meta` nor `observation`.
   */
  kinds?: string[] | null;
  /**
   * `nextCursor` of the page before.
   */
  cursor?: string | null;
  /**
   * At most this many hits, 1 to 200; absent: 50.
   */
  limit?: number | null;
}
/**
 * Result of `transcript/search`: sessions made last first, in each the last items first.
 */
export interface TranscriptSearchResult {
  /**
   * The hits; may be none although more come.
   */
  hits: Hit[];
  /**
   * Where the search goes on; absent when all was looked through.
   */
  nextCursor?: string | null;
  /**
   * How many items this call looked through.
   */
  searched: number;
  /**
   * Projects that could not be read, each named once in a call.
   */
  skipped?: Skipped[];
}
/**
 * An item that holds all the words.
 */
export interface Hit {
  /**
   * The session.
   */
  session: string;
  /**
   * Its title; may be empty.
   */
  title: string;
  /**
   * The item's number.
   */
  item: number;
  /**
   * Its turn.
   */
  turn: number;
  /**
   * Its kind, such as `user`.
   */
  kind: string;
  /**
   * When it was made.
   */
  at: number;
  /**
   * A piece of its text around a word.
   */
  text: string;
  /**
   * Where words stand in `text`, in bytes of its UTF-8: `[start, end]`, ascending.
   */
  ranges: [number, number][];
}
/**
 * A project whose sessions could not be searched.
 */
export interface Skipped {
  /**
   * Key of the project.
   */
  project: string;
  /**
   * Why.
   */
  reason: string;
}
/**
 * Parameters of `transcript/rebuild`.
 */
export interface TranscriptRebuildParams {
  /**
   * The session.
   */
  session: string;
  /**
   * The client's key for this call.
   */
  idempotencyKey?: string | null;
}
/**
 * Result of `transcript/rebuild`.
 */
export interface TranscriptRebuildResult {
  /**
   * The session.
   */
  session: string;
  /**
   * The transcript as a file.
   */
  path: string;
  /**
   * Its items.
   */
  items: number;
  /**
   * Its size in bytes.
   */
  bytes: number;
  /**
   * Saved texts of results that were made again.
   */
  restored: number;
  /**
   * Saved texts of results that are gone and cannot be made again.
   */
  lost: number;
}
/**
 * Parameters of `turn/start`.
 */
export interface TurnStartParams {
  /**
   * The session.
   */
  session: string;
  /**
   * What the user says; not blank.
   */
  text: string;
  /**
   * What to do when a turn already runs; absent: `queue`.
   */
  whenBusy?: WhenBusy | null;
  /**
   * Rules that the user allows for this turn, such as `run_terminal_cmd(cargo test *)`; at most 100.
   */
  allow?: string[] | null;
  /**
   * What the user puts beside the text, in order; at most 64.
   */
  attachments?: Attachment[] | null;
  /**
   * The session's permission mode from now on, as `session/setMode` sets it; absent: it stays.
   */
  mode?: string | null;
  /**
   * The session's model from now on, as `session/setModel` sets it; absent: it stays.
   */
  model?: string | null;
  /**
   * The client's key for this prompt; the same key again is the same turn.
   */
  idempotencyKey?: string | null;
}
/**
 * Lines, both ends included, from 1.
 */
export interface LineRange {
  /**
   * The first.
   */
  start: number;
  /**
   * The last.
   */
  end: number;
}
/**
 * Result of `turn/start`.
 */
export interface AcceptedTurn {
  /**
   * The turn that it is, or will be.
   */
  turn: number;
  /**
   * Whether it waits behind a running one.
   */
  queued: boolean;
}
/**
 * Parameters of `turn/steer`.
 */
export interface TurnSteerParams {
  /**
   * The session.
   */
  session: string;
  /**
   * What the user adds; not blank.
   */
  text: string;
  /**
   * The client's key for this call; the same key again adds nothing.
   */
  idempotencyKey?: string | null;
}
/**
 * Parameters of `turn/cancel`.
 */
export interface TurnCancelParams {
  /**
   * The session.
   */
  session: string;
  /**
   * The client's key for this call.
   */
  idempotencyKey?: string | null;
}
/**
 * Parameters of `turn/continue`.
 */
export interface TurnContinueParams {
  /**
   * The session.
   */
  session: string;
  /**
   * The client's key for this call; the same key again is the same turn.
   */
  idempotencyKey?: string | null;
}
/**
 * Parameters of `permission/respond`.
 */
export interface PermissionRespondParams {
  /**
   * The session.
   */
  session: string;
  /**
   * The question.
   */
  ask: string;
  /**
   * The answer.
   */
  choice: Choice;
  /**
   * What the user says to a rejection, for the model.
   */
  advice?: string | null;
  /**
   * The client's key for this call.
   */
  idempotencyKey?: string | null;
}
/**
 * Result of `permission/respond`.
 */
export interface PermissionRespondResult {
  /**
   * Whether this answer counts; `false`: another came first. A question that is void is an error (`conflict`).
   */
  accepted: boolean;
}
/**
 * Parameters of `permission/grants`.
 */
export interface PermissionGrantsParams {
  /**
   * Key of the project.
   */
  project: string;
}
/**
 * Result of `permission/grants`: oldest first.
 */
export interface PermissionGrantsResult {
  /**
   * What the user allowed in this project until it is revoked.
   */
  grants: Grant[];
}
/**
 * Something that the user allowed for good, by the answer `allowAlways`.
 */
export interface Grant {
  /**
   * Its number, which is never given to another.
   */
  no: number;
  /**
   * The rule, such as `run_terminal_cmd(cargo test *)`.
   */
  rule: string;
  /**
   * When the user allowed it.
   */
  at: number;
  /**
   * The session in which it was asked.
   */
  session: string;
  /**
   * The call about which it was asked.
   */
  call: string;
}
/**
 * Parameters of `permission/revoke`.
 */
export interface PermissionRevokeParams {
  /**
   * Key of the project.
   */
  project: string;
  /**
   * Number of the grant.
   */
  grant: number;
  /**
   * The client's key for this call.
   */
  idempotencyKey?: string | null;
}
/**
 * Parameters of `memory/list`.
 */
export interface MemoryListParams {
  /**
   * Key of the project.
   */
  project: string;
}
/**
 * Result of `memory/list`.
 */
export interface MemoryListResult {
  /**
   * The project's, then the user's, each oldest first.
   */
  memories: Memory[];
}
/**
 * A memory, without its text, which stands in its file.
 */
export interface Memory {
  /**
   * Its id, `m3` of the project or `u7` of the user; never given to another.
   */
  id: string;
  /**
   * What it says, in one line.
   */
  title: string;
  /**
   * Absolute path of its file.
   */
  path: string;
  /**
   * When it was made.
   */
  createdAt: number;
  /**
   * When it was last changed.
   */
  updatedAt: number;
  /**
   * The session that wrote what it says now; it may have been deleted since. Absent: the user wrote it.
   */
  session?: string | null;
  /**
   * The item of that session's transcript which is the call that wrote it.
   */
  item?: number | null;
}
/**
 * Parameters of `memory/get`.
 */
export interface MemoryGetParams {
  /**
   * Key of the project.
   */
  project: string;
  /**
   * The memory.
   */
  id: string;
}
/**
 * Result of `memory/get`.
 */
export interface MemoryGetResult {
  /**
   * The memory.
   */
  memory: Memory;
  /**
   * Its text, without the title.
   */
  text: string;
}
/**
 * Parameters of `memory/put`.
 */
export interface MemoryPutParams {
  /**
   * Key of the project.
   */
  project: string;
  /**
   * The memory that is changed; absent: a new one.
   */
  id?: string | null;
  /**
   * For whom a new one is; absent: for the project.
   */
  scope?: MemoryScope | null;
  /**
   * What it says, in one line of at most 120 characters; absent: as before.
   */
  title?: string | null;
  /**
   * Its text, at most 16384 bytes; absent: as before, and for a new one its title.
   */
  text?: string | null;
  /**
   * The client's key for this call.
   */
  idempotencyKey?: string | null;
}
/**
 * Parameters of `memory/delete`.
 */
export interface MemoryDeleteParams {
  /**
   * Key of the project.
   */
  project: string;
  /**
   * The memory.
   */
  id: string;
  /**
   * The client's key for this call.
   */
  idempotencyKey?: string | null;
}
/**
 * Parameters of `rule/list`.
 */
export interface RuleListParams {
  /**
   * Key of the project.
   */
  project: string;
}
/**
 * Result of `rule/list`.
 */
export interface RuleListResult {
  /**
   * What is always in force, then the others; each the administrator's, the user's, the project's.
   */
  rules: RuleInfo[];
}
/**
 * A rule, without its text, which stands in its file.
 */
export interface RuleInfo {
  /**
   * Its name.
   */
  name: string;
  /**
   * Absolute path of its file.
   */
  path: string;
  /**
   * When it is in force.
   */
  applies: RuleApplies;
  /**
   * What it is about, by its own head.
   */
  description?: string | null;
  /**
   * Patterns of the files for which it counts.
   */
  globs?: string[];
}
/**
 * Parameters of `skill/list`.
 */
export interface SkillListParams {
  /**
   * Key of the project.
   */
  project: string;
}
/**
 * Result of `skill/list`.
 */
export interface SkillListResult {
  /**
   * The user's, those of a trusted project, those of configured folders.
   */
  skills: SkillInfo[];
}
/**
 * A skill, without its text, which stands in its file.
 */
export interface SkillInfo {
  /**
   * Its name.
   */
  name: string;
  /**
   * When to use it, by its own head.
   */
  description: string;
  /**
   * Absolute path of its `SKILL.md`.
   */
  path: string;
}
/**
 * Parameters of `prompt/list`.
 */
export interface PromptListParams {
  /**
   * The session.
   */
  session: string;
}
/**
 * Result of `prompt/list`.
 */
export interface PromptListResult {
  /**
   * The bundle: `lean` or `full`.
   */
  bundle: string;
  /**
   * What takes the place of the sentence that says what the agent is.
   */
  base?: string | null;
  /**
   * The texts in force, by path.
   */
  texts: TextInfo[];
  /**
   * What is wrong with own texts that are not used, each with what to do.
   */
  warnings: string[];
}
/**
 * One text.
 */
export interface TextInfo {
  /**
   * Its path below the folder of texts, such as `lean/system.md`.
   */
  path: string;
  /**
   * Whose it is.
   */
  source: TextSource;
  /**
   * Absolute path of an own text's file, as long as that is there.
   */
  file?: string | null;
  /**
   * Its size, placeholders included.
   */
  bytes: number;
}
/**
 * Parameters of `todo/get`.
 */
export interface TodoGetParams {
  /**
   * The session.
   */
  session: string;
}
/**
 * Result of `todo/get`.
 */
export interface TodoGetResult {
  /**
   * The list as it was written last; empty when it never was.
   */
  todos: Todo[];
}
/**
 * One entry of the todo list.
 */
export interface Todo {
  /**
   * The model's own id for it.
   */
  id: string;
  /**
   * What is to be done.
   */
  content: string;
  /**
   * How far it is.
   */
  status: TodoStatus;
}
/**
 * Parameters of `task/get`.
 */
export interface TaskGetParams {
  /**
   * The session.
   */
  session: string;
}
/**
 * Result of `task/get` and `task/set`.
 */
export interface TaskState {
  /**
   * The task; null where there never was one.
   */
  task?: Task | null;
  /**
   * The last test run; absent when there was none.
   */
  verification?: Verification | null;
  /**
   * Calls of which nobody knows whether they took effect.
   */
  unsettled: string[];
  /**
   * The project's revision now, as last observed.
   */
  revision: string;
}
/**
 * What is to be done, under which demands, and what is known.
 */
export interface Task {
  /**
   * What is to be reached; empty until it was said.
   */
  goal: string;
  /**
   * What the user demanded or forbade.
   */
  constraints: Constraint[];
  /**
   * Explanations with their state; refuted ones stay.
   */
  hypotheses: Hypothesis[];
  /**
   * What is established.
   */
  confirmed: Confirmed[];
  /**
   * How far the work is.
   */
  phase: Phase;
  /**
   * What comes next; empty until it was said.
   */
  next: string;
  /**
   * Whether the user lets the work count as done without tests.
   */
  waived: boolean;
}
/**
 * Something that the user demanded or forbade.
 */
export interface Constraint {
  /**
   * Its number within the task; never given to another.
   */
  id: number;
  /**
   * The user's words.
   */
  quote: string;
  /**
   * The item that holds them; absent: a client set it.
   */
  item?: number | null;
  /**
   * Rules whose calls are denied because of it, in every mode. Empty: nothing enforces it.
   */
  denies: string[];
}
/**
 * An explanation that is looked into.
 */
export interface Hypothesis {
  /**
   * What it says.
   */
  claim: string;
  /**
   * What became of it.
   */
  status: HypothesisStatus;
  /**
   * The results that it rests on, such as `e/c7@r42`; see `evidence/get`.
   */
  evidence: string[];
}
/**
 * Something established.
 */
export interface Confirmed {
  /**
   * What it says.
   */
  claim: string;
  /**
   * The results that it rests on.
   */
  evidence: string[];
}
/**
 * The last test run of a session.
 */
export interface Verification {
  /**
   * Its call.
   */
  call: string;
  /**
   * The command that ran.
   */
  command: string;
  /**
   * Whether the command ended well and no test failed.
   */
  passed: boolean;
  /**
   * The revision when it began, such as `r41`.
   */
  before: string;
  /**
   * The revision when it had ended.
   */
  after: string;
  /**
   * Whether somebody else changed files meanwhile, so that it says nothing.
   */
  void: boolean;
  /**
   * Whether it was limited by `target`, so that it says nothing of the other tests; absent of a run of all.
   */
  partial?: boolean;
  /**
   * Whether it says that all tests pass on the present revision.
   */
  holds: boolean;
  /**
   * When it ended.
   */
  at: number;
}
/**
 * Parameters of `task/set`. What is absent stays.
 */
export interface TaskSetParams {
  /**
   * The session.
   */
  session: string;
  /**
   * Another goal.
   */
  goal?: string | null;
  /**
   * Another phase.
   */
  phase?: Phase | null;
  /**
   * What comes next.
   */
  next?: string | null;
  /**
   * Constraints to be added.
   */
  addConstraints?: NewConstraint[] | null;
  /**
   * Numbers of constraints to be taken away, with what they deny.
   */
  removeConstraints?: number[] | null;
  /**
   * Whether the work may count as done without tests.
   */
  waive?: boolean | null;
  /**
   * The same key again changes nothing more.
   */
  idempotencyKey?: string | null;
}
/**
 * A constraint to be added.
 */
export interface NewConstraint {
  /**
   * The user's words.
   */
  quote: string;
  /**
   * Rules whose calls are denied; absent: those that follow from the words.
   */
  denies?: string[] | null;
}
/**
 * Parameters of `evidence/get`.
 */
export interface EvidenceGetParams {
  /**
   * The session.
   */
  session: string;
  /**
   * The evidence id.
   */
  evidence: string;
}
/**
 * What a call showed then, and how that stands now.
 */
export interface Evidence {
  /**
   * Its id, such as `e/c7@r42`.
   */
  evidence: string;
  /**
   * The call.
   */
  call: string;
  /**
   * The tool.
   */
  tool: string;
  /**
   * The item of the result.
   */
  item: number;
  /**
   * What the model was shown.
   */
  text: string;
  /**
   * How the call ended.
   */
  status: CallStatus;
  /**
   * The files of which it was shown something.
   */
  files: EvidenceFile[];
  /**
   * Whether it may be otherwise now: a file is not as it was shown or, where no file was shown, the project has changed.
   */
  stale: boolean;
  /**
   * The project's revision now.
   */
  revision: string;
}
/**
 * A file of an evidence.
 */
export interface EvidenceFile {
  /**
   * Canonical absolute path.
   */
  path: string;
  /**
   * The version that was shown.
   */
  version: string;
  /**
   * How it stands now.
   */
  now: FileNow;
}
/**
 * Parameters of `checkpoint/list`.
 */
export interface CheckpointListParams {
  /**
   * The session.
   */
  session: string;
  /**
   * Only turns before this one.
   */
  before?: number | null;
  /**
   * At most so many turns; 1 to 500, 50 when absent.
   */
  limit?: number | null;
}
/**
 * Result of `checkpoint/list`: turns that changed files, newest first.
 */
export interface CheckpointListResult {
  /**
   * The turns.
   */
  turns: CheckpointTurn[];
  /**
   * Give it as `before` for the next page; absent at the end.
   */
  nextBefore?: number | null;
}
/**
 * A turn that changed files.
 */
export interface CheckpointTurn {
  /**
   * The turn.
   */
  turn: number;
  /**
   * When its first call of these began.
   */
  at: number;
  /**
   * The first line of its prompt.
   */
  prompt: string;
  /**
   * Whether the turn can be undone as a whole now.
   */
  restorable: Restorable;
  /**
   * Its calls that changed files, in order, and the undos that came after it.
   */
  calls: CheckpointCall[];
}
/**
 * Whether something can be undone now.
 */
export interface Restorable {
  /**
   * The answer.
   */
  state: RestorableState;
  /**
   * Why not.
   */
  reason?: string | null;
}
/**
 * A call that changed files.
 */
export interface CheckpointCall {
  /**
   * The call, such as `c7`.
   */
  call: string;
  /**
   * The tool's name; `undo` for an undo.
   */
  tool: string;
  /**
   * When it came to the state in which it is.
   */
  at: number;
  /**
   * Whether it can be undone alone now.
   */
  restorable: Restorable;
  /**
   * The files.
   */
  files: CheckpointFile[];
}
/**
 * What a call did to a file.
 */
export interface CheckpointFile {
  /**
   * Canonical path.
   */
  path: string;
  /**
   * Version before; absent when nothing was there.
   */
  before?: string | null;
  /**
   * Version after; absent when the file was deleted.
   */
  after?: string | null;
  /**
   * Lines added; absent when it is not known.
   */
  added?: number | null;
  /**
   * Lines removed; absent when it is not known.
   */
  removed?: number | null;
}
/**
 * Parameters of `checkpoint/diff`. Exactly one of `turn`, `from` and `call` is given.
 */
export interface CheckpointDiffParams {
  /**
   * The session.
   */
  session: string;
  /**
   * Undo this turn.
   */
  turn?: number | null;
  /**
   * Undo this turn and all after it.
   */
  from?: number | null;
  /**
   * Undo this call; of an undo: do again what it undid.
   */
  call?: string | null;
}
/**
 * Result of `checkpoint/diff`.
 */
export interface CheckpointDiffResult {
  /**
   * Each file, by path, with its difference.
   */
  files: RestoredFile[];
  /**
   * Commands that ran: what they changed is not undone.
   */
  commands: RanCommand[];
}
/**
 * What restoring does to a file.
 */
export interface RestoredFile {
  /**
   * Canonical path.
   */
  path: string;
  /**
   * What restoring it means.
   */
  action: RestoreAction;
  /**
   * Whether that may be done.
   */
  verdict: FileVerdict;
  /**
   * Why not.
   */
  reason?: string | null;
  /**
   * Whether it was restored, or would be.
   */
  done: boolean;
  /**
   * Calls whose effect is taken back.
   */
  calls: string[];
  /**
   * Lines added.
   */
  added: number;
  /**
   * Lines removed.
   */
  removed: number;
  /**
   * Versions that were not written by the agent and are taken away; their contents are kept.
   */
  keeps?: string[];
  /**
   * From what is there to what would be: a unified diff without its two lines of file names. Only of `checkpoint/diff`.
   */
  diff?: string | null;
  /**
   * Lines of the diff that were left out at its end.
   */
  cut?: number;
}
/**
 * A command that ran.
 */
export interface RanCommand {
  /**
   * The call.
   */
  call: string;
  /**
   * Its text.
   */
  command: string;
}
/**
 * Parameters of `checkpoint/restore`. Exactly one of `turn`, `from` and `call` is given.
 */
export interface CheckpointRestoreParams {
  /**
   * The session.
   */
  session: string;
  /**
   * Undo this turn.
   */
  turn?: number | null;
  /**
   * Undo this turn and all after it.
   */
  from?: number | null;
  /**
   * Undo this call; of an undo: do again what it undid.
   */
  call?: string | null;
  /**
   * Leave out the files that cannot simply be restored. Without it all are restored or none.
   */
  skip?: boolean | null;
  /**
   * Restore also files that somebody else, or later calls, changed. What is there is kept first.
   */
  force?: boolean | null;
  /**
   * Only say what would be done.
   */
  dryRun?: boolean | null;
  /**
   * The client's key for this call.
   */
  idempotencyKey?: string | null;
}
/**
 * Result of `checkpoint/restore`.
 */
export interface CheckpointRestoreResult {
  /**
   * What came of it.
   */
  state: RestoreState;
  /**
   * The undo's own call: give it to `checkpoint/restore` to take the undo back.
   */
  call?: string | null;
  /**
   * Each file, by path.
   */
  files: RestoredFile[];
  /**
   * Commands that ran: what they changed is not undone.
   */
  commands: RanCommand[];
}
/**
 * Parameters of `operation/list`.
 */
export interface OperationListParams {
  /**
   * The session.
   */
  session: string;
  /**
   * Only those in one of these states; absent or empty: in any.
   */
  states?: OperationState[] | null;
  /**
   * Only those that are open (`true`), or that are not (`false`); absent: both.
   */
  unsettled?: boolean | null;
  /**
   * Where the page before ended.
   */
  cursor?: string | null;
  /**
   * At most so many; 1 to 500, 50 when absent.
   */
  limit?: number | null;
}
/**
 * Result of `operation/list`: the newest first.
 */
export interface OperationListResult {
  /**
   * The operations.
   */
  operations: Operation[];
  /**
   * Give it as `cursor` for the next page; absent at the end.
   */
  nextCursor?: string | null;
}
/**
 * A call with an effect.
 */
export interface Operation {
  /**
   * The call, such as `c7`.
   */
  call: string;
  /**
   * Its turn.
   */
  turn: number;
  /**
   * The tool's name; `undo` for an undo.
   */
  tool: string;
  /**
   * What it may do: `write`, `execute`, `network` or `interact`.
   */
  class: string;
  /**
   * Canonical path of what it acts on: the file, or the folder that a command runs in.
   */
  target: string;
  /**
   * The command line, for commands.
   */
  command?: string | null;
  /**
   * Where it stands.
   */
  state: OperationState;
  /**
   * When it came there.
   */
  at: number;
  /**
   * The project's revision when it was allowed to run, such as `r42`.
   */
  revision: string;
  /**
   * A command that goes on, or went on, in the background.
   */
  background?: boolean;
  /**
   * For edits: each file.
   */
  files?: OperationFile[];
  /**
   * What was found out about one whose end was not seen.
   */
  finding?: Finding | null;
  /**
   * Whether nothing about it is open.
   */
  settled: boolean;
}
/**
 * What an operation does to a file.
 */
export interface OperationFile {
  /**
   * Canonical path.
   */
  path: string;
  /**
   * Version before; absent when nothing was there.
   */
  before?: string | null;
  /**
   * Version that was intended; absent for a deletion.
   */
  after?: string | null;
}
/**
 * What was found out about an operation whose end was not seen.
 */
export interface Finding {
  /**
   * What it says.
   */
  verdict: Verdict;
  /**
   * Who found it out.
   */
  by: FoundBy;
  /**
   * The later operation that proves it, where `by` is `later`.
   */
  later?: string | null;
  /**
   * When.
   */
  at: number;
  /**
   * The project's revision at which it was found.
   */
  revision: string;
  /**
   * How each file stood then.
   */
  files?: FoundFile[];
  /**
   * What the user said to it.
   */
  note?: string | null;
}
/**
 * How a file of an operation stood.
 */
export interface FoundFile {
  /**
   * Canonical path.
   */
  path: string;
  /**
   * What it held.
   */
  stands: Stands;
  /**
   * Its version then; absent when nothing was there or it could not be read.
   */
  version?: string | null;
}
/**
 * Parameters of `operation/inspect`.
 */
export interface OperationInspectParams {
  /**
   * The session.
   */
  session: string;
  /**
   * The operation's call, such as `c7`.
   */
  call: string;
  /**
   * The client's key for this call.
   */
  idempotencyKey?: string | null;
}
/**
 * Parameters of `operation/resolve`.
 */
export interface OperationResolveParams {
  /**
   * The session.
   */
  session: string;
  /**
   * The operation's call, such as `c7`.
   */
  call: string;
  /**
   * What the user says became of it.
   */
  resolution: Resolution2;
  /**
   * What the user adds; at most 2000 bytes. The model reads it.
   */
  note?: string | null;
  /**
   * The client's key for this call; saying the same again changes nothing.
   */
  idempotencyKey?: string | null;
}
/**
 * Parameters of `context/inspect`.
 */
export interface ContextInspectParams {
  /**
   * The session.
   */
  session: string;
}
/**
 * Result of `context/inspect` and of `context/preview`.
 */
export interface Inspection {
  /**
   * The session.
   */
  session: string;
  /**
   * Which request this is.
   */
  of: InspectedOf;
  /**
   * Its number, when it was sent.
   */
  request?: number | null;
  /**
   * The model that it is for, as `provider/model`.
   */
  model: string;
  /**
   * Why nothing would be sent, for people. Then there are no layers.
   */
  refused?: string | null;
  /**
   * Why a new epoch would begin with it; absent while the present one goes on.
   */
  opens?: string | null;
  /**
   * Bytes of its body: exactly the sum over all parts.
   */
  bytes: number;
  /**
   * Its tokens as the load counts them: what the provider reported last, and estimates of what came since.
   */
  tokens: number;
  /**
   * The window.
   */
  window: Window;
  /**
   * The layers in their order.
   */
  layers: LayerInfo[];
  /**
   * What of the history it shows in short; absent where it shows all of it.
   */
  shortened?: Shortened | null;
  /**
   * Items that came since, while a turn runs.
   */
  since?: Since | null;
  /**
   * What its input costs in US dollars with the expected cache; absent when the price is not known.
   */
  cost?: number | null;
  /**
   * The day on which the price was read, `YYYY-MM-DD`.
   */
  priceAsOf?: string | null;
}
/**
 * The window of a model, in tokens.
 */
export interface Window {
  /**
   * All of it.
   */
  tokens: number;
  /**
   * Kept for the answer.
   */
  outputReserve: number;
  /**
   * Kept for the results of the next step.
   */
  resultsRoom: number;
  /**
   * The request's tokens over what is left.
   */
  load: number;
  /**
   * Loads at which something is done about it.
   */
  lines: number[];
}
/**
 * One layer of a request.
 */
export interface LayerInfo {
  /**
   * Its number; 0 for the parameters and what is around everything.
   */
  layer: number;
  /**
   * Its name, for people.
   */
  name: string;
  /**
   * Its bytes in the body.
   */
  bytes: number;
  /**
   * Its estimated tokens.
   */
  tokens: number;
  /**
   * Of these, expected to be read from the provider's cache.
   */
  cacheRead: number;
  /**
   * Of these, expected to be written to it.
   */
  cacheWrite: number;
  /**
   * Its parts, in the order in which the first of each kind stands in the body.
   */
  parts: PartInfo[];
}
/**
 * What came from one origin in one layer.
 */
export interface PartInfo {
  /**
   * Where it came from.
   */
  origin: string;
  /**
   * What of it: a tool, a block, a call, a cause.
   */
  name?: string | null;
  /**
   * The file that it shows.
   */
  path?: string | null;
  /**
   * Its bytes in the body.
   */
  bytes: number;
  /**
   * Its estimated tokens.
   */
  tokens: number;
  /**
   * The items that it was made from, as ranges.
   */
  items?: ItemRange[];
}
/**
 * Items from one to another, both included.
 */
export interface ItemRange {
  /**
   * The first.
   */
  first: number;
  /**
   * The last.
   */
  last: number;
}
/**
 * What of the history the model sees in short.
 */
export interface Shortened {
  /**
   * Results that are shown cut.
   */
  resultsCut: number;
  /**
   * The last turn that is shown as one line, or in part; the user's own messages are whole.
   */
  turnsThrough?: number | null;
  /**
   * The summary of the beginning.
   */
  summary?: Summary | null;
  /**
   * What the last compaction did; absent where it has left the view.
   */
  last?: LastCompaction | null;
}
/**
 * The summary that stands for the beginning of a conversation.
 */
export interface Summary {
  /**
   * Bytes of its text.
   */
  bytes: number;
  /**
   * The last turn that it stands for.
   */
  throughTurn: number;
  /**
   * The last step of that turn; absent: all of it.
   */
  throughStep?: number | null;
  /**
   * The last item that it stands for.
   */
  lastItem: number;
}
/**
 * What a compaction did. The words are those of the event `compactionFinished`.
 */
export interface LastCompaction {
  /**
   * The epoch that it opened.
   */
  epoch: number;
  /**
   * When.
   */
  at: number;
  /**
   * Why.
   */
  cause: string;
  /**
   * What was done.
   */
  levels: string[];
  /**
   * Tokens of the next request before it.
   */
  before: number;
  /**
   * And after it, estimated.
   */
  after: number;
  /**
   * What the model could take at a load of 1.
   */
  usable: number;
  /**
   * Tokens in the provider's cache that were of no use any more.
   */
  givenUp: number;
  /**
   * Where the summary is from, when it wrote one.
   */
  summary?: string | null;
  /**
   * Milliseconds that the conversation stood still for it.
   */
  waitedMs: number;
}
/**
 * What came after the inspected request.
 */
export interface Since {
  /**
   * The items.
   */
  items: ItemRange[];
  /**
   * Their estimated tokens in the view.
   */
  tokens: number;
}
/**
 * Parameters of `context/compact`.
 */
export interface ContextCompactParams {
  /**
   * The session.
   */
  session: string;
  /**
   * What a summary should keep above all, in the user's words; at most 4,000 bytes.
   */
  focus?: string | null;
  /**
   * Calls with the same key, in this session, begin one compaction.
   */
  idempotencyKey?: string | null;
}
/**
 * Result of `context/compact`.
 */
export interface ContextCompactResult {
  /**
   * It has begun, or is done before the running turn's next request; its end is an event.
   */
  started: boolean;
}
/**
 * Parameters of `context/preview`.
 */
export interface ContextPreviewParams {
  /**
   * The session.
   */
  session: string;
  /**
   * The prompt; empty when absent.
   */
  text?: string | null;
  /**
   * Files that would be put beside it; at most 100.
   */
  files?: PreviewFile[] | null;
  /**
   * Model as `provider/model`; the session's when absent.
   */
  model?: string | null;
}
/**
 * A file that would be put beside a prompt.
 */
export interface PreviewFile {
  /**
   * Absolute path, or one relative to the project's first root.
   */
  path: string;
  /**
   * These lines only.
   */
  lines?: LineRange | null;
}
/**
 * Parameters of `request/list`.
 */
export interface RequestListParams {
  /**
   * The session.
   */
  session: string;
  /**
   * Only requests before this one.
   */
  before?: number | null;
  /**
   * At most so many, the newest of them; 1 to 500, 50 when absent.
   */
  limit?: number | null;
}
/**
 * Result of `request/list`.
 */
export interface RequestListResult {
  /**
   * The requests, ascending.
   */
  requests: RequestInfo[];
  /**
   * Requests beside the conversation, such as for a summary, ascending; with the newest page only.
   */
  side?: SideInfo[];
  /**
   * Give it as `before` for the page before this one; absent at the beginning.
   */
  nextBefore?: number | null;
  /**
   * All requests of the session together.
   */
  total: Total;
}
/**
 * One request.
 */
export interface RequestInfo {
  /**
   * Its number in the session.
   */
  request: number;
  /**
   * Its turn.
   */
  turn: number;
  /**
   * Its step of the turn.
   */
  step: number;
  /**
   * When it was sent.
   */
  at: number;
  /**
   * Its epoch.
   */
  epoch: number;
  /**
   * The provider's name of the model.
   */
  model: string;
  /**
   * The last item in its view.
   */
  lastItem: number;
  /**
   * Bytes of its body.
   */
  bytes: number;
  /**
   * Its logical tokens, estimated.
   */
  tokens: number;
  /**
   * What the provider reported; `input` is its logical tokens, `cacheRead` its cached ones.
   */
  usage?: Usage | null;
  /**
   * Tokens that were expected to be read from the cache.
   */
  cachedExpected: number;
  /**
   * What it shares with the request before; absent for the first.
   */
  kept?: Kept | null;
  /**
   * Where it stopped going on from the request before.
   */
  break?: Break | null;
  /**
   * US dollars; absent when usage or price is not known.
   */
  cost?: number | null;
  /**
   * Why it failed.
   */
  error?: string | null;
  /**
   * What is wrong with a stored text that it was made of: it can no longer be shown or replayed as it was sent. Then
   * `tokens` and `cachedExpected` are 0, and `kept` and `break` are absent.
   */
  damaged?: string | null;
}
/**
 * Tokens. `input` is everything that was sent, cached parts included.
 */
export interface Usage {
  /**
   * All tokens sent.
   */
  input: number;
  /**
   * Of these, read from the provider's cache.
   */
  cacheRead: number;
  /**
   * Of these, written to the provider's cache.
   */
  cacheWrite: number;
  /**
   * Tokens of the answer, reasoning included.
   */
  output: number;
}
/**
 * What two requests share from their beginning on.
 */
export interface Kept {
  /**
   * Segments.
   */
  segments: number;
  /**
   * Their bytes.
   */
  bytes: number;
  /**
   * Their estimated tokens.
   */
  tokens: number;
  /**
   * Estimated tokens of the request before.
   */
  ofTokens: number;
}
/**
 * A request that does not go on from the one before.
 */
export interface Break {
  /**
   * The first layer that changed, by number.
   */
  layer: number;
  /**
   * Its name, for people.
   */
  name: string;
  /**
   * Why its epoch began.
   */
  cause: string;
  /**
   * Estimated tokens of the request before that are not kept.
   */
  lostTokens: number;
}
/**
 * One request beside the conversation. It is no part of the view, and has numbers of its own.
 */
export interface SideInfo {
  /**
   * Its number among the session's side requests.
   */
  side: number;
  /**
   * What it was for: `summary`.
   */
  purpose: string;
  /**
   * When it was sent.
   */
  at: number;
  /**
   * The epoch at that time.
   */
  epoch: number;
  /**
   * The last item that it knew.
   */
  lastItem: number;
  /**
   * The request of the conversation that it begins with, byte for byte; absent: it stood alone.
   */
  base?: number | null;
  /**
   * The provider's name of the model.
   */
  model: string;
  /**
   * Bytes of its body.
   */
  bytes: number;
  /**
   * Its tokens, estimated.
   */
  tokens: number;
  /**
   * What the provider reported.
   */
  usage?: Usage | null;
  /**
   * US dollars; absent when usage or price is not known.
   */
  cost?: number | null;
  /**
   * Why it failed, or could not be used.
   */
  error?: string | null;
}
/**
 * What all requests of a session come to.
 */
export interface Total {
  /**
   * How many.
   */
  requests: number;
  /**
   * Bytes that were sent.
   */
  bytes: number;
  /**
   * Reported tokens.
   */
  usage: Usage;
  /**
   * Tokens that were expected to be read from the cache.
   */
  cachedExpected: number;
  /**
   * Requests that did not go on from the one before, the first not counted.
   */
  breaks: number;
  /**
   * Requests beside the conversation; they are not among the figures above.
   */
  side?: SideTotal | null;
  /**
   * US dollars of those with a known price.
   */
  cost?: number | null;
  /**
   * The day on which the price was read, `YYYY-MM-DD`.
   */
  priceAsOf?: string | null;
}
/**
 * What the requests beside a conversation come to.
 */
export interface SideTotal {
  /**
   * How many.
   */
  requests: number;
  /**
   * Bytes that were sent.
   */
  bytes: number;
  /**
   * Reported tokens.
   */
  usage: Usage;
  /**
   * US dollars of those with a known price.
   */
  cost?: number | null;
}
/**
 * Parameters of `request/get`. One of `request` and `side` is given.
 */
export interface RequestGetParams {
  /**
   * The session.
   */
  session: string;
  /**
   * The request's number.
   */
  request?: number | null;
  /**
   * The number of one beside the conversation.
   */
  side?: number | null;
  /**
   * Also make its messages anew from their items and compare; of `request` only.
   */
  check?: boolean | null;
}
/**
 * Result of `request/get`.
 */
export interface RequestGetResult {
  /**
   * The request as in `request/list`; absent for one beside the conversation.
   */
  info?: RequestInfo | null;
  /**
   * The one beside the conversation as in `request/list`.
   */
  side?: SideInfo | null;
  /**
   * What the model wrote, of one beside the conversation.
   */
  answer?: string | null;
  /**
   * The stored hash over parameters and segments, which the stored segments were compared with.
   */
  hash: string;
  /**
   * Its segments in the order of the body.
   */
  segments: SegmentInfo[];
  /**
   * What making it anew gave, when that was asked for.
   */
  check?: Check | null;
}
/**
 * One segment of a body: a tool, a block of system text, a message.
 */
export interface SegmentInfo {
  /**
   * Its layer, by number.
   */
  layer: number;
  /**
   * Content hash.
   */
  hash: string;
  /**
   * The hash of the chain up to it.
   */
  chain: string;
  /**
   * Its bytes, without cache marks.
   */
  bytes: number;
  /**
   * Its estimated tokens.
   */
  tokens: number;
  /**
   * Whether it carries a cache mark.
   */
  marked: boolean;
  /**
   * The items that it was made from.
   */
  items?: ItemRange[];
}
/**
 * What making the messages anew from their items gave.
 */
export interface Check {
  /**
   * Messages that were made and compared.
   */
  messages: number;
  /**
   * Messages that an older version wrote; they are not compared.
   */
  older: number;
  /**
   * Those that are not as they were sent.
   */
  differences: Difference[];
}
/**
 * A message that is not made again as it was sent.
 */
export interface Difference {
  /**
   * Its number among the messages after the head's, from 1.
   */
  message: number;
  /**
   * Its items.
   */
  items: ItemRange[];
  /**
   * What is different, for people.
   */
  what: string;
}
/**
 * Parameters of `request/replay`. One of `request` and `side` is given.
 */
export interface RequestReplayParams {
  /**
   * The session.
   */
  session: string;
  /**
   * The request's number.
   */
  request?: number | null;
  /**
   * The number of one beside the conversation.
   */
  side?: number | null;
  /**
   * Where to begin, in bytes of the body; `nextOffset` of the page before.
   */
  offset?: number | null;
  /**
   * About so many bytes; 1 to 16,777,216, 4,194,304 when absent.
   */
  limit?: number | null;
}
/**
 * Result of `request/replay`.
 */
export interface RequestReplayResult {
  /**
   * The body from `offset` on, cut between two characters.
   */
  text: string;
  /**
   * Where `text` begins.
   */
  offset: number;
  /**
   * Bytes of the whole body.
   */
  bytes: number;
  /**
   * Where the next page begins; absent at the end.
   */
  nextOffset?: number | null;
}
/**
 * Parameters of `request/projections`.
 */
export interface RequestProjectionsParams {
  /**
   * The session.
   */
  session: string;
  /**
   * Over all sessions of its project.
   */
  all?: boolean | null;
}
/**
 * Result of `request/projections`.
 */
export interface RequestProjectionsResult {
  /**
   * By model, then by tool.
   */
  projections: ProjectionInfo[];
}
/**
 * What the shortened results of one tool saved with one model, and what of it was read again. Tokens are estimates.
 */
export interface ProjectionInfo {
  /**
   * The model that was sent the results.
   */
  model: string;
  /**
   * The tool.
   */
  tool: string;
  /**
   * Results that did not continue another.
   */
  results: number;
  /**
   * Those of them that left something out.
   */
  partial: number;
  /**
   * Partial ones of which more was asked for later.
   */
  continued: number;
  /**
   * Tokens that these results cost in the view.
   */
  tokens: number;
  /**
   * Tokens that they left out.
   */
  saved: number;
  /**
   * Calls that asked for more of such a result.
   */
  continuations: number;
  /**
   * Those of them that brought something new.
   */
  withNew: number;
  /**
   * Tokens that they cost in the view.
   */
  reread: number;
  /**
   * Tokens of these for what had been shown before.
   */
  repeated: number;
}
/**
 * Parameters of `config/get`.
 */
export interface ConfigGetParams {
  /**
   * A key such as `limits.max_steps_per_turn`, or a table such as `providers.local`; absent: everything.
   */
  key?: string | null;
  /**
   * Key of a project whose own file counts too.
   */
  project?: string | null;
}
/**
 * Result of `config/get`: as it counts for this client, in its environment.
 */
export interface ConfigGetResult {
  /**
   * Each key with what counts; null: nothing is set. Keys of providers and headers are hidden.
   */
  values: {
    [k: string]: unknown | undefined;
  };
  /**
   * Who said so: of a list one for each entry, in its order; none where the built-in value counts.
   */
  sources: {
    [k: string]: Source[] | undefined;
  };
  /**
   * What is odd in the files, for people; what to do follows the first semicolon.
   */
  warnings: string[];
}
/**
 * Who said something.
 */
export interface Source {
  /**
   * `user`, `project`, `environment`, `client` (the options of `initialize`) or `managed`. Later versions may add words.
   */
  layer: string;
  /**
   * Absolute path, where it is a file.
   */
  file?: string | null;
  /**
   * The line in it, from 1.
   */
  line?: number | null;
  /**
   * The environment variable, or the option of `initialize`.
   */
  name?: string | null;
}
/**
 * Parameters of `config/set`.
 */
export interface ConfigSetParams {
  /**
   * A key of the user's file, such as `limits.max_steps_per_turn` or `providers.local.models."qwen3:8b".images`.
   */
  key: string;
  /**
   * What to write; null takes the key out. A table may be given as a whole, as an object.
   */
  value: unknown;
  /**
   * The client's key for this call.
   */
  idempotencyKey?: string | null;
}
/**
 * Result of `config/set`.
 */
export interface ConfigSetResult {
  /**
   * Absolute path of the user's file.
   */
  file: string;
  /**
   * Whether it differs from before.
   */
  changed: boolean;
  /**
   * What is odd in the configuration now, for people.
   */
  warnings: string[];
}
/**
 * Parameters of `model/list`.
 */
export interface ModelListParams {
  /**
   * Key of a project whose own file counts too.
   */
  project?: string | null;
}
/**
 * Result of `model/list`.
 */
export interface ModelListResult {
  /**
   * The models, the default one first.
   */
  models: Model[];
  /**
   * The model of new sessions. Not among the models when it cannot be used: `config/get` and `session/create` say why.
   */
  default: string;
}
/**
 * A model.
 */
export interface Model {
  /**
   * `provider/model`.
   */
  id: string;
  /**
   * Tokens that a request and its answer may have together.
   */
  contextWindow: number;
  /**
   * Most tokens of an answer.
   */
  maxOutput: number;
  /**
   * Whether it takes images.
   */
  images: boolean;
  /**
   * `set`, `missing` or `notNeeded`. What a command prints counts as set; it is run when it is needed.
   */
  keyState: string;
}
/**
 * Parameters of `auth/status`: none.
 */
export interface AuthStatusParams {}
/**
 * Result of `auth/status`.
 */
export interface AuthStatusResult {
  /**
   * The configured providers, then the well-known hosts.
   */
  providers: ProviderKey[];
}
/**
 * Where the key of a provider is, for turns of this client.
 */
export interface ProviderKey {
  /**
   * The provider.
   */
  provider: string;
  /**
   * `set`, `missing` or `notNeeded`.
   */
  state: string;
  /**
   * Of a key that is set: `client` (by `auth/set`), `clientEnvironment`, `daemonEnvironment`, `command` or `file`. Later
   * versions may add words.
   */
  source?: string | null;
  /**
   * The environment variable that holds it, or that would have to.
   */
  variable?: string | null;
}
/**
 * Parameters of `auth/set`.
 */
export interface AuthSetParams {
  /**
   * The provider.
   */
  provider: string;
  /**
   * The key, for turns of this connection; null forgets it.
   */
  key?: Key | null;
  /**
   * The client's key for this call.
   */
  idempotencyKey?: string | null;
}
/**
 * Parameters of `editor/state`.
 */
export interface EditorStateParams {
  /**
   * Key of the project.
   */
  project: string;
  /**
   * Open and recently viewed files, the most recent first. Replaces what this connection said before.
   */
  files: EditorFile[];
  /**
   * The client's key for this call.
   */
  idempotencyKey?: string | null;
}
/**
 * A file in an editor.
 */
export interface EditorFile {
  /**
   * Absolute path, or one relative to the first root.
   */
  path: string;
  /**
   * Its lines, when known.
   */
  totalLines?: number | null;
  /**
   * Whether it is open now, or was viewed before.
   */
  open?: boolean;
  /**
   * Whether it has the focus.
   */
  focused?: boolean;
  /**
   * Whether it has unsaved changes.
   */
  unsaved?: boolean;
  /**
   * Line of the cursor, from 1.
   */
  cursorLine?: number | null;
  /**
   * The selected lines.
   */
  selection?: LineRange | null;
}
/**
 * Parameters of `daemon/status`.
 */
export interface DaemonStatusParams {}
/**
 * Result of `daemon/status`.
 */
export interface DaemonStatus {
  /**
   * Its process.
   */
  pid: number;
  /**
   * Absolute path of its socket.
   */
  socket: string;
  /**
   * Its version.
   */
  version: string;
  /**
   * Its build.
   */
  build: string;
  /**
   * When it started.
   */
  startedAt: number;
  /**
   * Connections now, the asking one included.
   */
  clients: number;
  /**
   * Sessions that are live in memory.
   */
  sessions: number;
  /**
   * Turns that run.
   */
  turns: number;
  /**
   * Commands in the background that run.
   */
  jobs?: number;
  /**
   * Whether it ends as soon as nothing runs, to make room for another build.
   */
  restartPending?: boolean;
  /**
   * Databases that were found damaged since it started; what could be read of them was taken over.
   */
  damaged?: Damaged[];
}
/**
 * A database that was damaged.
 */
export interface Damaged {
  /**
   * Absolute path of the damaged file, which was kept as it was found.
   */
  kept: string;
  /**
   * What was wrong and what came through, for people.
   */
  detail: string;
}
/**
 * Parameters of `daemon/stop`.
 */
export interface DaemonStopParams {
  /**
   * Whether the caller starts another daemon at once: who is connected is told to connect again.
   */
  restart?: boolean | null;
  /**
   * The client's key for this call.
   */
  idempotencyKey?: string | null;
}
/**
 * The last test run, beside the revision at a turn's end.
 */
export interface Verified {
  /**
   * Its call.
   */
  call: string;
  /**
   * Whether the tests passed, undisturbed.
   */
  passed: boolean;
  /**
   * The revision that it speaks of, such as `r42`.
   */
  revision: string;
  /**
   * Whether that is the revision now.
   */
  current: boolean;
  /**
   * Whether it was limited by `target`, so that it says nothing of the other tests; absent of a run of all.
   */
  partial?: boolean;
}
/**
 * The `data` of every error.
 */
export interface ErrorData {
  /**
   * What went wrong, to branch on.
   */
  kind: ErrorKind;
  /**
   * What to do about it.
   */
  hint?: string | null;
}
/**
 * Who is there, and what it wants.
 */
export interface Hello {
  /**
   * Always `hello`; the first field, so that the line begins with [`HELLO_PREFIX`].
   */
  plimsoll: HelloMark;
  /**
   * What the rest of the connection speaks.
   */
  facade: Facade;
  /**
   * The caller's build.
   */
  build: string;
  /**
   * The versions of the native protocol that the caller speaks.
   */
  protocol: ProtocolRange;
  /**
   * The caller's current folder: absolute, in text form.
   */
  cwd?: string | null;
  /**
   * The caller's environment. It stays in the daemon's memory.
   */
  env?: {
    [k: string]: string | undefined;
  };
  /**
   * The caller's executable. With a path: the build that the daemon shall make room for, when it is the newer one.
   */
  binary?: Binary | null;
  /**
   * Of an `acp` bridge that survives its daemon: what it had with the one before. Empty on its first connection.
   */
  resume?: Resume | null;
}
/**
 * The versions that a program speaks, both ends included.
 */
export interface ProtocolRange {
  /**
   * The oldest.
   */
  min: Version;
  /**
   * The newest.
   */
  max: Version;
}
/**
 * What orders two builds: the version first, and for builds of one version when the executable was made.
 */
export interface Binary {
  /**
   * The version of the package, as semantic versioning has it.
   */
  version: string;
  /**
   * When the executable was last modified, in milliseconds of Unix time.
   */
  modified: number;
  /**
   * Its absolute path, in text form.
   */
  path?: string | null;
}
/**
 * What a surviving bridge had with a daemon that has ended.
 */
export interface Resume {
  /**
   * The parameters of its `initialize`, once that was answered.
   */
  initialize?: unknown;
  /**
   * The highest number of a request that a daemon sent it; those of the next daemon go on from there.
   */
  lastRequest?: number;
  /**
   * The sessions that are open on it.
   */
  sessions?: ResumedSession[];
}
/**
 * A session that was open.
 */
export interface ResumedSession {
  /**
   * Its id.
   */
  session: string;
  /**
   * The last event that was told; absent: not known, what comes from now on is told.
   */
  seq?: number | null;
  /**
   * The parameters of the call that opened it.
   */
  params?: unknown;
  /**
   * Prompts that were not answered. They come again, with these keys.
   */
  prompts?: ResumedPrompt[];
}
/**
 * A prompt that comes again.
 */
export interface ResumedPrompt {
  /**
   * Its key.
   */
  key: string;
  /**
   * The last event that was told when it was first sent: its turn is later.
   */
  after: number;
}
/**
 * The daemon's answer to a hello. With an `error` the daemon closes the connection after it.
 */
export interface Welcome {
  /**
   * Always `welcome`.
   */
  plimsoll: WelcomeMark;
  /**
   * The daemon's build.
   */
  build: string;
  /**
   * The versions of the native protocol that the daemon speaks.
   */
  protocol: ProtocolRange;
  /**
   * The daemon's process.
   */
  pid: number;
  /**
   * When it started.
   */
  startedAt: number;
  /**
   * The daemon's executable, as it was when it started.
   */
  binary?: Binary | null;
  /**
   * Why the connection is refused.
   */
  error?: Refusal | null;
}
/**
 * Why a connection is refused.
 */
export interface Refusal {
  /**
   * To branch on.
   */
  kind: ErrorKind;
  /**
   * For people.
   */
  message: string;
  /**
   * What to do about it.
   */
  hint?: string | null;
}
