// Answers to what a client may ask at any time: the methods that only look, and those that tell the daemon what the editor
// shows. What the exchange has told is told again; the rest is `free.json`, or else the example of the reference.

import { readFileSync } from "node:fs";

/** The result of a free method; nothing when it is not free. */
export function freeAnswer(method, { told, params, files }) {
  // Safe to repeat, and repeated by clients that connect again.
  if (told.answers[method]) return told.answers[method];
  const free = JSON.parse(readFileSync(files("free.json"), "utf8"));
  if (!Object.hasOwn(free, method)) return undefined;
  if (method === "session/list") return { sessions: told.session ? [told.session] : [] };
  if (method === "session/get" && told.session) return told.session;
  if (method === "transcript/read") return page(told.items, params);
  return free[method] ?? example(readFileSync(files("../../protocol/README.md"), "utf8"), method);
}

function page(items, { after = 0, before = Infinity, limit = 100 }) {
  const within = items.filter(({ no }) => no > (after ?? 0) && no < (before ?? Infinity));
  const chosen = after ? within.slice(0, limit ?? 100) : within.slice(-(limit ?? 100));
  return { items: chosen, last: items.at(-1)?.no ?? 0 };
}

function example(reference, method) {
  const section = reference.split(`\n### \`${method}\`\n`)[1] ?? "";
  const block = section.split("```json\n")[1]?.split("```")[0] ?? "";
  const answer = block.trim().split("\n").map((line) => JSON.parse(line)).find(({ result }) => result !== undefined);
  return answer?.result;
}
