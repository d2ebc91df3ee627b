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

/** Calls, each `[tool, arguments]`. */
export const calls = (...list) => ({ parts: [], calls: list });

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
    send({ id: 'x', object: 'chat.completion.chunk', created: 1, model: body.model, choices: [], usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 } });
    response.end('data: [DONE]\n\n');
  }
}
