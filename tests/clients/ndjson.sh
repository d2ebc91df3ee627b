#!/usr/bin/env bash
# A turn without any client: JSON lines written to `plimsoll stdio`. Arguments: a folder and a prompt, both plain enough
# to stand in JSON. Prints every message of the daemon until the turn has ended.
set -euo pipefail
coproc daemon { "$PLIMSOLL_BIN" stdio; }
ask() { printf '{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}\n' "$@" >&"${daemon[1]}"; }
answer() { while IFS= read -r line <&"${daemon[0]}" && printf '%s\n' "$line" && [[ $line != *"$1"* ]]; do :; done; }
field() { sed -E "s/.*\"$1\":\"([^\"]*)\".*/\1/" <<<"$line"; }
ask 1 initialize '{"clientInfo":{"name":"shell"},"protocolVersion":"1.0"}' && answer '"id":1'
ask 2 project/open "{\"roots\":[\"$1\"]}" && answer '"id":2'
ask 3 session/create "{\"project\":\"$(field key)\"}" && answer '"id":3'
session=$(sed -E 's/.*"result":\{"id":"([^"]*)".*/\1/' <<<"$line")
ask 4 session/attach "{\"session\":\"$session\"}" && answer '"id":4'
ask 5 turn/start "{\"session\":\"$session\",\"text\":\"$2\"}" && answer '"turnCompleted"'
