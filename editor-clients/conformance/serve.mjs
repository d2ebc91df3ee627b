#!/usr/bin/env node
// Plays the daemon's side of a recorded exchange over standard input and output, for the tests of clients:
//
//     node serve.mjs CASE [--state FILE]
//
// Ends with code 0 when the client said everything that the case wants and then closed its end, with 1 and the
// difference on standard error as soon as it deviates, with 2 when it was called wrongly. README.md describes the cases,
// what a client is free to do, and `--state`. It needs Node.js 20 and nothing else.

import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { Frames } from "./support/frames.mjs";
import { freeAnswer } from "./support/free.mjs";
import { Values, compare } from "./support/match.mjs";
import { faults } from "./support/schema.mjs";

const here = (name) => fileURLToPath(new URL(name, import.meta.url));

function usage(message) {
  const cases = readdirSync(here("cases")).map((file) => basename(file, ".json"));
  console.error(`${message}\nusage: node serve.mjs CASE [--state FILE]\ncases: ${cases.join(", ")}`);
  process.exit(2);
}

function options() {
  // A client that can only be given a program calls it as it would call the daemon's bridge: `PROGRAM stdio`.
  const words = process.argv.slice(2).filter((word) => word !== "stdio");
  const at = words.indexOf("--state");
  const state = at < 0 ? process.env.PLIMSOLL_CONFORMANCE_STATE : words.splice(at, 2)[1];
  const name = words[0] ?? process.env.PLIMSOLL_CONFORMANCE_CASE;
  if (!name) usage("which case?");
  const file = here(`cases/${name}.json`);
  if (!existsSync(file)) usage(`there is no case ${name}`);
  return { name, state, played: JSON.parse(readFileSync(file, "utf8")) };
}

const { name, state, played } = options();
const schema = JSON.parse(readFileSync(here("../../protocol/schema/plimsoll.schema.json"), "utf8"));
const steps = played.steps.filter((step) => step.call || step.notify || step.answer || step.event || step.deltas || step.close);
const kept = state && existsSync(state) ? JSON.parse(readFileSync(state, "utf8")) : {};
const values = new Values(played.values, kept.values);
/** What the client could know by now, for the methods that only look. */
const told = { session: kept.session, items: kept.items ?? [], answers: kept.answers ?? {} };
/** Ids of calls that are answered by a later step, by the step's word. */
const open = new Map();
let next = kept.next ?? 0;
let done = false;

function keep(verdict) {
  if (state) writeFileSync(state, JSON.stringify({ next, of: steps.length, verdict, values: values.known, ...told }));
}

function end(code, verdict) {
  if (done) return;
  done = true;
  keep(verdict);
  console.error(`conformance: ${name}: ${verdict}`);
  frames.drained(() => process.exit(code));
}

const deviates = (what) => end(1, `at step ${next + 1} of ${steps.length}: ${what}`);

/** What is waited for, in words. */
function wanted() {
  const step = steps[next];
  return step ? `${step.call ?? step.notify} ${JSON.stringify(values.fill(step.params ?? {}))}` : "the end of its input";
}

function answer(id, step) {
  if (step.error) frames.send({ jsonrpc: "2.0", id, error: values.fill(step.error) });
  else {
    const result = values.fill(step.result);
    if (step.call === "initialize") result.capabilities.methods = Object.keys(schema.methods).sort();
    if (["initialize", "project/open"].includes(step.call)) told.answers[step.call] = result;
    if (step.call?.startsWith("session/") && result?.id) told.session = result;
    frames.send({ jsonrpc: "2.0", id, result });
  }
}

function event(fields) {
  const result = values.fill(fields);
  if (result.item) told.items.push(result.item);
  if (result.info) told.session = result.info;
  const subscription = values.fill("${subscription}");
  frames.send({ jsonrpc: "2.0", method: "session/event", params: { subscription, result } });
}

/** Says everything that comes before the client's next word. */
function play() {
  for (; !done && next < steps.length; next += 1) {
    const step = steps[next];
    if (step.event) event(step.event);
    else if (step.deltas) {
      let offset = step.from ?? 0;
      for (const text of step.pieces) {
        event({ ...step.deltas, offset, text });
        offset += Buffer.byteLength(text);
      }
    } else if (step.answer) {
      answer(open.get(step.answer), step);
      open.delete(step.answer);
    } else if (step.close) {
      next += 1;
      end(0, `closed the connection as step ${next} says`);
      return;
    } else break;
  }
  if (next === steps.length && !done) {
    keep("passed");
    console.error(`conformance: ${name}: all ${steps.length} steps are done`);
  }
}

function hear(message) {
  if (done) return;
  if (message === null || typeof message !== "object" || Array.isArray(message)) return deviates(`not one message: ${JSON.stringify(message)}`);
  const { jsonrpc, id, method, params } = message;
  if (jsonrpc !== "2.0" || typeof method !== "string") return deviates(`not a request: ${JSON.stringify(message)}`);
  const known = schema.methods[method];
  if (known) {
    const wrong = faults(schema, known.params, params ?? {});
    if (wrong.length > 0) return deviates(`${method} is not what the schema says: ${wrong.join("; ")}`);
  }
  const step = steps[next];
  const meant = step && (id === undefined ? step.notify : step.call) === method;
  if (meant) {
    const wanted = { ...step.params };
    // `#word` is the id of the call that the step of this word answers.
    if (typeof wanted.id === "string" && wanted.id.startsWith("#")) wanted.id = open.get(wanted.id.slice(1));
    const differences = compare(wanted, params ?? {}, values);
    if (differences.length > 0) return deviates(`${method}: ${differences.join("; ")}`);
    if (step.later) open.set(step.later, id);
    else if (step.call) answer(id, step);
    next += 1;
    return play();
  }
  if (id === undefined) return method === "$/cancelRequest" ? deviates(`${method}, but ${wanted()} was expected`) : undefined;
  if (!known) {
    console.error(`conformance: ${name}: ${method} is no method of this version`);
    const data = { kind: "methodNotFound" };
    return frames.send({ jsonrpc: "2.0", id, error: { code: -32601, message: `there is no method ${method}`, data } });
  }
  const free = freeAnswer(method, { told, params: params ?? {}, files: here });
  if (free === undefined) return deviates(`${method} ${JSON.stringify(params ?? {})}, but ${wanted()} was expected`);
  return frames.send({ jsonrpc: "2.0", id, result: free });
}

const frames = new Frames(process.stdin, process.stdout, {
  message: hear,
  fault: deviates,
  ended: () => (next === steps.length ? end(0, "passed") : deviates(`the client ended, but ${wanted()} was expected`)),
});
play();
