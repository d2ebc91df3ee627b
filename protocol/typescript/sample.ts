// A client in small: it compiles under `--strict`, so the types are good for one. Nobody runs it.

import type { EventOf, Item, Methods, Notifications, ParamsOf, ResultOf, SessionEvent } from "./plimsoll";
import { ERROR_CODES, PROTOCOL_VERSION } from "./plimsoll";

type Send = <M extends keyof Methods>(method: M, params: ParamsOf<M>) => Promise<ResultOf<M>>;

export async function converse(send: Send, folder: string): Promise<string> {
  const daemon = await send("initialize", {
    clientInfo: { name: "sample" },
    protocolVersion: PROTOCOL_VERSION,
    capabilities: {},
  });
  const project = await send("project/open", { roots: [folder] });
  const session = await send("session/create", { project: project.key, mode: "ask", idempotencyKey: "one" });
  await send("session/attach", { session: session.id, after: session.lastSeq });
  const { turn, queued } = await send("turn/start", {
    session: session.id,
    text: "hello",
    attachments: [{ kind: "file", path: "Makefile", lines: { start: 1, end: 3 } }],
  });
  for (const ask of session.openAsks) {
    await send("permission/respond", { session: session.id, ask: ask.id, choice: "reject", advice: null });
  }
  // @ts-expect-error: there is no such choice to make.
  await send("permission/respond", { session: session.id, ask: "a1", choice: "perhaps" });
  // @ts-expect-error: the session is missing.
  await send("turn/cancel", {});
  return `${daemon.serverInfo.name} ${turn} ${queued}`;
}

export function on({ result }: Notifications["session/event"]): number | null | undefined {
  switch (result.type) {
    case "itemAdded":
      show(result.item);
      break;
    case "textDelta":
    case "reasoningDelta":
      append(result.block, result.offset, result.text);
      break;
    case "turnCompleted":
      ended(result);
      break;
    default:
      // Others of this version, and those of a newer daemon.
      break;
  }
  return result.seq;
}

function ended(event: EventOf<"turnCompleted">): string {
  // Known words are told apart, and any other is a text.
  return event.stopReason === "endTurn" ? `${event.usage.input}` : event.stopReason;
}

function show(item: Item): string {
  switch (item.kind) {
    case "user":
    case "assistant":
    case "reasoning":
      return item.text;
    case "toolCall":
      return `${item.tool} ${item.arguments}`;
    case "toolResult":
      return item.text ?? item.status;
    default:
      return "";
  }
}

function append(block: number, offset: number, text: string): void {
  void [block, offset, text];
}

export const busy = (code: number): boolean => code === ERROR_CODES.busy;

export type Durable = SessionEvent & { seq: number };
