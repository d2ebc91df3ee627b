// The official SDK's client on a `plimsoll acp` of its own. Every line that comes is recorded and held against the schema
// that the SDK ships, before the SDK sees it.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { Readable, Transform, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { client, methods, ndJsonStream } from '@agentclientprotocol/sdk';
import { inTime } from './machine.mjs';

const Ajv = createRequire(import.meta.url)('ajv/dist/2020').default;
const sdk = path.dirname(fileURLToPath(import.meta.resolve('@agentclientprotocol/sdk')));
const schema = JSON.parse(fs.readFileSync(path.join(sdk, '../../../schema/v1/schema.json'), 'utf8'));
const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
ajv.addSchema(schema, 'acp');

/** The definition whose `x-method` this is and whose name ends so. */
function definition(method, ending) {
  const names = Object.keys(schema.$defs);
  return names.find((name) => schema.$defs[name]['x-method'] === method && name.endsWith(ending));
}

function hold(name, value, faults) {
  const validate = ajv.getSchema(name ? `acp#/$defs/${name}` : 'acp');
  if (!validate(value)) {
    faults.push(`${name ?? 'message'}: ${ajv.errorsText(validate.errors.slice(0, 5))}: ${JSON.stringify(value)}`);
  }
}

/** What a message of the agent breaks; `asked` are the methods of our requests by id. */
export function faultsOf(message, asked) {
  const faults = [];
  hold(undefined, message, faults);
  if (message.jsonrpc !== '2.0') faults.push(`jsonrpc: ${JSON.stringify(message)}`);
  if (message.method) {
    const name = definition(message.method, 'id' in message ? 'Request' : 'Notification');
    if (name) hold(name, message.params, faults);
    else faults.push(`unknown method: ${message.method}`);
  } else if (message.error) {
    hold('Error', message.error, faults);
  } else {
    const name = definition(asked.get(message.id), 'Response');
    if (name) hold(name, message.result, faults);
    else faults.push(`an answer to nothing: ${JSON.stringify(message)}`);
  }
  return faults;
}

/** Cuts a byte stream into lines for `line`, and hands it on. */
function tap(line) {
  let rest = '';
  const decoder = new TextDecoder('utf-8', { fatal: true });
  return new Transform({
    transform(chunk, _encoding, done) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
      rest = lines.pop();
      for (const text of lines) line(text);
      done(null, chunk);
    },
  });
}

export class Acp {
  /** Starts a bridge and initializes; the test `t` fails when a message breaks the schema. */
  static async start(t, machine, { version = 1, capabilities = {} } = {}) {
    const acp = new Acp();
    acp.machine = machine;
    acp.child = machine.spawn('acp');
    const asked = new Map();
    const out = tap((text) => {
      const message = JSON.parse(text);
      if (message.method && 'id' in message) asked.set(message.id, message.method);
    });
    out.pipe(acp.child.stdin);
    // A bridge that has ended takes nothing more; what the SDK was told is what a check looks at.
    acp.child.stdin.on('error', () => {});
    const into = tap((text) => {
      try {
        const message = JSON.parse(text);
        acp.received.push(message);
        acp.faults.push(...faultsOf(message, asked));
      } catch (error) {
        acp.faults.push(`${error}: ${text}`);
      }
      acp.wake();
    });
    const stream = ndJsonStream(Writable.toWeb(out), Readable.toWeb(acp.child.stdout.pipe(into)));
    acp.connection = client({ name: 'client checks' })
      .onRequest(methods.client.session.requestPermission, (context) => {
        acp.asked.push(context.params);
        const answer = acp.permit(context);
        acp.wake();
        return answer;
      })
      .onRequest(methods.client.fs.readTextFile, ({ params }) => acp.readFile(params))
      .onNotification(methods.client.session.update, ({ params }) => {
        acp.updates.push(params);
        acp.wake();
      })
      .connect(stream);
    acp.agent = acp.connection.agent;
    acp.initialized = await acp.request(methods.agent.initialize, {
      protocolVersion: version,
      clientInfo: { name: 'client checks', version: '1' },
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false, ...capabilities },
    });
    t.after(() => assert.deepEqual(acp.faults, []));
    return acp;
  }

  /** Every message of the agent, in order. */
  received = [];
  /** Every update, as the SDK gave it. */
  updates = [];
  /** Every permission that was asked for. */
  asked = [];
  faults = [];
  waiting = [];
  /** How permissions are answered; a check sets it. */
  permit = () => {
    throw new Error('nothing should be asked');
  };

  /** What the editor has of a file; a check sets it. */
  readFile = () => {
    throw new Error('no file should be read');
  };

  request(method, params) {
    return inTime(`the answer to ${method}`, this.agent.request(method, params));
  }

  /** A new session in the workspace; its id. */
  async open(cwd = this.machine.work) {
    return (await this.request(methods.agent.session.new, { cwd, mcpServers: [] })).sessionId;
  }

  /** The answer to a prompt, which may be text. */
  prompt(sessionId, prompt) {
    const blocks = typeof prompt === 'string' ? [{ type: 'text', text: prompt }] : prompt;
    return this.request(methods.agent.session.prompt, { sessionId, prompt: blocks });
  }

  cancel(sessionId) {
    return this.agent.notify(methods.agent.session.cancel, { sessionId });
  }

  /** The updates of one session, in order. */
  of(sessionId) {
    return this.updates.filter((update) => update.sessionId === sessionId).map(({ update }) => update);
  }

  wake() {
    for (const wake of this.waiting.splice(0)) wake();
  }

  /** Waits until `reached` gives something. */
  async until(what, reached) {
    const wait = async () => {
      for (;;) {
        const found = reached();
        if (found) return found;
        await new Promise((resolve) => this.waiting.push(resolve));
      }
    };
    return inTime(what, wait());
  }

  /** Closes the editor's side; gives how the bridge ended. */
  async close() {
    this.child.stdin.end();
    return inTime("the bridge's end", this.child.ended);
  }
}

/** Answers with the option of this kind. */
export const choose = (kind) => ({ params }) => {
  const option = params.options.find((offered) => offered.kind === kind);
  assert.ok(option, `no option of kind ${kind} in ${JSON.stringify(params.options)}`);
  return { outcome: { outcome: 'selected', optionId: option.optionId } };
};

/** Answers that the dialog was closed. */
export const dismiss = () => ({ outcome: { outcome: 'cancelled' } });

/**
 * What an editor shows after these updates: messages with all their text, calls with all that is known of them, the
 * plan, in the order in which they appeared.
 */
export function shown(updates) {
  const entries = new Map();
  for (const { sessionUpdate, ...update } of updates) {
    if (/_chunk$/.test(sessionUpdate)) {
      const key = `${sessionUpdate} ${update.messageId}`;
      const message = entries.get(key) ?? { entry: sessionUpdate, text: '' };
      if (update.content.type === 'text') message.text += update.content.text;
      else message.blocks = [...(message.blocks ?? []), update.content];
      entries.set(key, message);
    } else if (sessionUpdate === 'tool_call' || sessionUpdate === 'tool_call_update') {
      const known = entries.get(update.toolCallId);
      assert.equal(known === undefined, sessionUpdate === 'tool_call', `${sessionUpdate} of ${update.toolCallId}`);
      entries.set(update.toolCallId, { ...(known ?? { entry: 'tool_call', status: 'pending' }), ...update });
    } else if (sessionUpdate === 'plan') {
      entries.set('plan', { entry: 'plan', entries: update.entries });
    }
  }
  return [...entries.values()];
}

/** The calls among what is shown. */
export const callsIn = (updates) => shown(updates).filter(({ entry }) => entry === 'tool_call');

/** The agent's text among what is shown. */
export const textIn = (updates) =>
  shown(updates)
    .filter(({ entry }) => entry === 'agent_message_chunk')
    .map(({ text }) => text)
    .join('');
