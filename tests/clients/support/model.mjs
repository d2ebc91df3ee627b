// A scripted model server for these checks: Chat Completions over real HTTP, one step per request, in order. It is not
// the strict server of the Rust tests; what it checks is that every request finds a step.

import http from 'node:http';
import { once } from 'node:events';

/** A door in the middle of an answer: the answer waits until it is opened, and tells when it stands before it. */
export class Gate {
  constructor() {
    this.reached = new Promise((resolve) => (this.arrive = resolve));
    this.opened = new Promise((resolve) => (this.open = resolve));
  }
}

/** Text in one delta for each argument; a `Gate` among them waits there. */
export const say = (...parts) => ({ parts });

// A step `{ status }` is an error answer with this status.

/** Calls, each `[tool, arguments]`. */
export const calls = (...list) => ({ parts: [], calls: list });

/** A summary that is taken, each section of which says this; what else is given comes before it. */
export const summary = (said, ...before) => say(...before, SECTIONS.map((title) => `## ${title}\n${said}\n`).join('\n'));

/** What a model writes of a summary. */
const SECTIONS = [
  '1. Primary request and intent',
  '2. Key technical concepts',
  '3. Files and code sections',
  '4. Errors and fixes',
  '5. Problem solving',
  '7. Pending tasks',
  '8. Current work',
  '9. Next step and where to look',
];

export class ModelServer {
  static async start() {
    const server = new ModelServer();
    server.http = http.createServer((request, response) => server.#answer(request, response));
    server.http.listen(0, '127.0.0.1');
    await once(server.http, 'listening');
    server.url = `http://127.0.0.1:${server.http.address().port}/v1`;
    return server;
  }

  steps = [];
  /** The bodies of all requests, in order. */
  requests = [];
  /** Whether the usage that is reported goes by the size of the request; otherwise it is always the same. */
  counts = false;
  /** Requests that found no step. */
  violations = [];
  #callId = 0;

  push(...steps) {
    this.steps.push(...steps);
  }

  /** The texts of the last request's messages with this role. */
  texts(role) {
    const messages = this.requests.at(-1).messages.filter((message) => message.role === role);
    return messages.map(({ content }) =>
      typeof content === 'string' ? content : content.map((part) => part.text ?? '').join('\n'),
    );
  }

  stop() {
    this.http.closeAllConnections();
    this.http.close();
  }

  async #answer(request, response) {
    let text = '';
    for await (const chunk of request.setEncoding('utf8')) text += chunk;
    const body = JSON.parse(text);
    this.requests.push(body);
    const step = this.steps.shift();
    if (!step) {
      this.violations.push(text.slice(-300));
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { message: 'the script has no step left', type: 'invalid_request_error' } }));
      return;
    }
    if (step.status) {
      response.writeHead(step.status, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { message: 'refused by the script', type: 'invalid_request_error' } }));
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const send = (value) => response.write(`data: ${JSON.stringify(value)}\n\n`);
    const chunk = (delta, finish_reason = null) =>
      send({ id: 'x', object: 'chat.completion.chunk', created: 1, model: body.model, choices: [{ index: 0, delta, finish_reason }] });
    chunk({ role: 'assistant', content: '' });
    for (const part of step.parts) {
      if (part instanceof Gate) {
        part.arrive();
        await Promise.race([part.opened, once(response, 'close')]);
        if (response.destroyed) return;
      } else {
        chunk({ content: part });
      }
    }
    for (const [index, [name, args]] of (step.calls ?? []).entries()) {
      this.#callId += 1;
      const call = { name, arguments: JSON.stringify(args) };
      chunk({ tool_calls: [{ index, id: `call_${this.#callId}`, type: 'function', function: call }] });
    }
    chunk({}, step.calls ? 'tool_calls' : 'stop');
    const tokens = this.counts ? Math.ceil(text.length / 4) : 100;
    send({ id: 'x', object: 'chat.completion.chunk', created: 1, model: body.model, choices: [], usage: { prompt_tokens: tokens, completion_tokens: 10, total_tokens: tokens + 10 } });
    response.end('data: [DONE]\n\n');
  }
}
