// Messages over a pair of streams: `Content-Length` headers or lines, whichever the first byte that is not blank shows.

export class Frames {
  #rest = Buffer.alloc(0);
  #lines;
  #to;

  /** `to` is told each `message`, the first `fault` in the framing, and that the other side `ended`. */
  constructor(from, into, to) {
    this.#to = to;
    this.into = into;
    // Who listens may be gone already.
    into.on("error", () => {});
    from.on("data", (bytes) => {
      this.#rest = Buffer.concat([this.#rest, bytes]);
      this.#read();
    });
    from.on("end", () => to.ended());
  }

  send(message) {
    const text = JSON.stringify(message);
    this.into.write(this.#lines ? `${text}\n` : `Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  }

  /** Calls `then` when everything that was sent is written. */
  drained(then) {
    this.into.write("", then);
  }

  #take(bytes) {
    const taken = this.#rest.subarray(0, bytes);
    this.#rest = this.#rest.subarray(bytes);
    return taken.toString("utf8");
  }

  #read() {
    if (this.#lines === undefined) {
      const first = this.#rest.findIndex((byte) => !" \t\r\n".includes(String.fromCharCode(byte)));
      if (first < 0) return;
      this.#lines = "{[".includes(String.fromCharCode(this.#rest[first]));
      this.#take(first);
    }
    for (let text = this.#next(); text !== undefined; text = this.#next()) {
      if (text.trim() === "") continue;
      let message;
      try {
        message = JSON.parse(text);
      } catch (error) {
        this.#to.fault(`not JSON (${error.message}): ${text.slice(0, 200)}`);
        return;
      }
      this.#to.message(message);
    }
  }

  #next() {
    if (this.#lines) {
      const end = this.#rest.indexOf("\n");
      return end < 0 ? undefined : this.#take(end + 1);
    }
    const end = this.#rest.indexOf("\r\n\r\n");
    if (end < 0) return undefined;
    const head = this.#rest.subarray(0, end).toString("latin1");
    const length = /^content-length:\s*(\d+)\s*$/im.exec(head);
    if (!length) {
      this.#to.fault(`a header block without a length: ${head.slice(0, 200)}`);
      this.#rest = Buffer.alloc(0);
      return undefined;
    }
    const body = Number(length[1]);
    if (this.#rest.length < end + 4 + body) return undefined;
    this.#take(end + 4);
    return this.#take(body);
  }
}
