"""A session of the real binary with a real llama.cpp server: session.py PLIMSOLL FOLDER.

Twelve turns with tool results, and in between another branch, another AGENTS.md and a restart of the daemon. Then the
conversation is shortened by hand, and goes on until the server, which takes less than the configuration says, refuses a
request as too long: it is shortened again and goes on. What was made smaller is not refused.

For each request the server's own count of prompt tokens that it had in its cache is compared with two others: with what the
request shares with the one before, by the server's own template and tokenizer; and with what Plimsoll expected and has stored.
They must agree within 2 %; where a compaction broke the prefix, only the first two: of a part of a request Plimsoll has an
estimate, and this tokenizer of single bytes is beyond what it takes for one. The request for the first summary must find the
whole conversation in the cache. What the user demanded first stands in every request of the conversation. Every request is
also printed again from the store, as it was sent.
"""

import http.client
import http.server
import json
import os
import pathlib
import socket
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).parent
CONTEXT = 131_072
# What the server takes.
SERVED = 60_000
TURNS = 12
LIMIT = 0.02
RULE = "Never edit files under legacy/."
SECTIONS = [
    "1. Primary request and intent",
    "2. Key technical concepts",
    "3. Files and code sections",
    "4. Errors and fixes",
    "5. Problem solving",
    "7. Pending tasks",
    "8. Current work",
    "9. Next step and where to look",
]
SUMMARY = "\n\n".join(f"## {title}\nThe files were looked at." for title in SECTIONS)


class Proxy(http.server.BaseHTTPRequestHandler):
    """Passes everything on to the server and keeps each chat request with the usage that its answer reports."""

    protocol_version = "HTTP/1.1"
    server_port = 0
    seen = []

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        self.forward(None)

    def do_POST(self):
        self.forward(self.rfile.read(int(self.headers["content-length"])))

    def forward(self, body):
        to = http.client.HTTPConnection("127.0.0.1", self.server_port)
        to.request(self.command, self.path, body, {"content-type": "application/json"})
        answer = to.getresponse()
        text = answer.read()
        if body is not None and self.path.endswith("/chat/completions"):
            lines = [line[6:] for line in text.splitlines() if line.startswith(b"data: {")]
            usages = [usage for usage in (json.loads(line).get("usage") for line in lines) if usage]
            Proxy.seen.append((body.decode(), usages[-1] if usages else text.decode(errors="replace")))
        self.send_response(answer.status)
        self.send_header("content-type", answer.getheader("content-type", "application/json"))
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
        to.close()


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def get(port, path, body=None):
    """What the server answers, as text."""
    to = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    to.request("POST" if body else "GET", path, json.dumps(body) if body else None, {"content-type": "application/json"})
    answer = to.getresponse()
    text = answer.read().decode()
    if answer.status != 200:
        raise OSError(f"{path}: {answer.status} {text[:300]}")
    return text


def start_server(model, folder):
    port = free_port()
    log = open(folder / "server.log", "wb")
    command = [sys.executable, HERE / "serve.py", model, str(port), str(SERVED)]
    server = subprocess.Popen(command, stdout=log, stderr=log)
    for _ in range(600):
        if server.poll() is not None:
            sys.exit(f"the server ended:\n{(folder / 'server.log').read_text(errors='replace')}")
        try:
            get(port, "/health")
            return server, port
        except OSError:
            time.sleep(0.1)
    sys.exit("the server did not get ready")


class Machine:
    """Plimsoll on folders of its own, and a repository to work in."""

    def __init__(self, binary, folder, port):
        self.binary = binary
        self.work = folder / "work"
        self.env = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
        names = {"HOME": "home", "PLIMSOLL_CONFIG_DIR": "config", "PLIMSOLL_DATA_DIR": "data", "PLIMSOLL_RUNTIME_DIR": "run"}
        for name, sub in names.items():
            (folder / sub).mkdir(mode=0o700)
            self.env[name] = str(folder / sub)
        (folder / "config" / "config.toml").write_text(
            f"""model = "llama/as-told"

[providers.llama]
api = "openai-chat"
base_url = "http://127.0.0.1:{port}/v1"

[providers.llama.models.as-told]
context_window = {CONTEXT}
max_output = 256

[permissions]
mode = "full"
"""
        )
        self.session = None

    def plimsoll(self, *arguments, stdin=None):
        done = subprocess.run(
            [self.binary, *arguments], cwd=self.work, env=self.env, input=stdin, capture_output=True, text=True, timeout=900
        )
        if done.returncode != 0:
            sys.exit(f"plimsoll {' '.join(arguments)}: {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def ask(self, prompt, stdin=None):
        which = ["--session", self.session] if self.session else []
        answer = self.plimsoll("ask", *which, *(["-"] if stdin else []), prompt, stdin=stdin)
        if not self.session:
            self.session = json.loads(self.plimsoll("sessions", "--json").splitlines()[0])["id"]
        return answer

    def git(self, *arguments):
        names = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
        env = {**self.env, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
        subprocess.run(["git", *names, *arguments], cwd=self.work, env=env, check=True, stdout=subprocess.DEVNULL)


def calls():
    """What the model can call; `<<3>>` in a prompt makes it call the third."""
    reads = [{"name": "read_file", "arguments": {"target_file": f"src/f{file:02}.rs"}} for file in range(TURNS)]
    reads[5] = {"name": "run_terminal_cmd", "arguments": {"command": "seq 1 2000"}}
    reads[8] = {"name": "grep", "arguments": {"pattern": "f08_1"}}
    return reads


def workspace(machine):
    (machine.work / "src").mkdir(parents=True)
    for file in range(TURNS):
        lines = [f"fn f{file:02}_{line}() -> u32 {{ {line * 7} }}  // grün\n" for line in range(60)]
        (machine.work / "src" / f"f{file:02}.rs").write_text("".join(lines))
    (machine.work / "AGENTS.md").write_text("Use tabs.\n")
    machine.git("init", "--quiet", "--initial-branch=main")
    machine.git("add", "--all")
    machine.git("commit", "--quiet", "--message", "first")
    machine.git("branch", "other")


def play(machine):
    for turn in range(TURNS):
        stdin = None
        if turn == 3:
            stdin = "A long text that the user has brought along. " * 100
        elif turn == 4:
            machine.git("checkout", "--quiet", "other")
        elif turn == 6:
            (machine.work / "AGENTS.md").write_text("Use four blanks.\n")
        elif turn == 9:
            machine.plimsoll("stop")
        rule = RULE if turn == 0 else ""
        answer = machine.ask(f"{rule} Look at number {turn}. <<{turn}>>", stdin)
        assert answer.strip() == "Done.", answer
    print(machine.plimsoll("compact", machine.session).strip())
    for turn in range(4):
        answer = machine.ask(f"And once more at number {turn}. <<{turn}>>", "Another long text of the user's. " * 400)
        assert answer.strip() == "Done.", answer


def shared(port, before, after):
    """Tokens that two requests have in common at their start, as the server renders and counts them."""

    def tokens(body):
        body = json.loads(body)
        prompt = json.loads(get(port, "/apply-template", {"messages": body["messages"], "tools": body["tools"]}))["prompt"]
        return json.loads(get(port, "/tokenize", {"content": prompt, "parse_special": True}))["tokens"]

    before, after = tokens(before), tokens(after)
    differs = (at for at, pair in enumerate(zip(before, after)) if pair[0] != pair[1])
    return next(differs, min(len(before), len(after)))


def asks_for_summary(body):
    return "## 9. " in json.loads(body)["messages"][-1]["content"]


def near(one, other):
    return abs(one - other) <= LIMIT * max(one, other)


def compare(port, machine):
    """Prints a line per request; gives the number of those where the counts do not agree."""
    stored = stored_requests(machine)
    faults = told = refused = 0
    before = None
    print(f"{'request':>7} {'prompt':>8} {'in cache':>9} {'shared':>8} {'expected':>9} {'reported':>9}")
    for at, (body, usage) in enumerate(Proxy.seen):
        request = stored[at]
        beside = "side" in request
        if not beside and RULE not in body:
            sys.exit(f"request {at + 1} has lost what the user demanded")
        if isinstance(usage, str):
            if beside or refused == at or "exceed_context_size" not in usage:
                sys.exit(f"request {at + 1} was not answered with its usage:\n{usage[:2000]}")
            refused = at + 1
            before = body
            print(f"{at + 1:>7} refused as too long")
            continue
        prompt, cached = usage["prompt_tokens"], usage["prompt_tokens_details"]["cached_tokens"]
        common = 0 if before is None or beside and "base" not in request else shared(port, before, body)
        expected, reported = request.get("cachedExpected", common), request["usage"]["cacheRead"]
        if beside:
            # On the prefix it asks behind the whole conversation; alone it finds nothing.
            fine = near(cached, last_prompt) if "base" in request else cached < 100
        elif request.get("break"):
            # The server keeps the head from before, whatever came between; how many tokens it has is an estimate.
            fine = near(cached, common) and common > 0
        else:
            fine = near(cached, common) and near(cached, expected)
        fine = fine and reported == cached
        faults += not fine
        told += cached
        if not beside:
            before, last_prompt = body, prompt
        kind = " summary" if beside else ""
        print(f"{at + 1:>7} {prompt:>8} {cached:>9} {common:>8} {expected:>9} {reported:>9}{kind} {'' if fine else '<- differs'}")
    if not refused:
        sys.exit("the server refused nothing as too long")
    lines = get(port, "/metrics").splitlines()
    total = next(float(line.split()[1]) for line in lines if line.startswith("llamacpp:prompt_tokens_cached_total"))
    print(f"the server's counter: {total:.0f}; the sum of its reports: {told}")
    return faults + (total != told)


def stored_requests(machine):
    """What Plimsoll has stored of each request, in the order in which they were sent."""
    lines = machine.plimsoll("requests", machine.session, "--json", "--limit", "1000").splitlines()
    rows = [json.loads(line) for line in lines]
    if len(rows) != len(Proxy.seen):
        sys.exit(f"{len(Proxy.seen)} requests were sent and {len(rows)} are stored")
    beside = [row for row in rows if "side" in row]
    own = [row for row in rows if "side" not in row]
    breaks = [row["break"]["cause"] for row in own if row.get("break")]
    by_refusal = sum(isinstance(usage, str) for _, usage in Proxy.seen)
    if breaks != ["compaction"] * (1 + by_refusal) or ["base" in row for row in beside] != [True] + [False] * by_refusal:
        sys.exit(f"a compaction by hand, on the prefix, and one for each refusal, which are not: {breaks}, {beside}")
    requests = []
    for body, _ in Proxy.seen:
        side = asks_for_summary(body)
        row = (beside if side else own).pop(0)
        which = ["--side", str(row["side"])] if side else [str(row["request"])]
        if machine.plimsoll("replay", machine.session, *which).rstrip("\n") != body:
            sys.exit(f"request {' '.join(which)} is not printed again as it was sent")
        requests.append(row)
    return requests


def main():
    binary, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    model = folder / "as-told.gguf"
    (folder / "told.json").write_text(json.dumps({"calls": calls(), "summary": SUMMARY}))
    template = HERE / "chat-template.jinja"
    subprocess.run([sys.executable, HERE / "make_model.py", model, template, folder / "told.json"], check=True)
    server, port = start_server(model, folder)
    Proxy.server_port = port
    proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    machine = Machine(binary, folder, proxy.server_port)
    workspace(machine)
    try:
        play(machine)
        faults = compare(port, machine)
    finally:
        subprocess.run([binary, "stop"], env=machine.env, capture_output=True)
        server.kill()
    before = next(at for at, (body, _) in enumerate(Proxy.seen) if asks_for_summary(body))
    results = sum(message["role"] == "tool" for message in json.loads(Proxy.seen[before - 1][0])["messages"])
    if results != TURNS:
        sys.exit(f"{results} tool results of {TURNS}: the model did not call as it was told")
    if faults:
        sys.exit(f"{faults} of {len(Proxy.seen)} requests: the counts of cached tokens differ by more than {LIMIT:.0%}")
    print(f"llama.cpp: {len(Proxy.seen)} requests, cached tokens as expected")


main()
