"""Reads the streams of the scripted model server with the vendors' own SDKs and compares what they understood.

usage: check.py PATH_OF_THE_EXAMPLE. The server plays, for each API, text and then two calls with reasoning before them.
"""

import json
import subprocess
import sys

import anthropic
import openai

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


def chat(base):
    client = openai.OpenAI(base_url=f"{base}/v1", api_key="unused", max_retries=0, timeout=20)
    tools = [{"type": "function", "function": {"name": "read_file", "description": "d", "parameters": SCHEMA}}]
    with client.chat.completions.stream(
        model="scripted",
        messages=[{"role": "user", "content": "u"}],
        tools=tools,
        max_tokens=100,
        stream_options={"include_usage": True},
    ) as stream:
        for _ in stream:
            pass
        completion = stream.get_final_completion()
    choice = completion.choices[0]
    usage = completion.usage
    return {
        "text": choice.message.content or "",
        "calls": [[c.function.name, json.loads(c.function.arguments)] for c in choice.message.tool_calls or []],
        "stop": choice.finish_reason,
        "usage": [usage.prompt_tokens, usage.prompt_tokens_details.cached_tokens, usage.completion_tokens],
    }


def messages(base):
    client = anthropic.Anthropic(base_url=base, api_key="unused", max_retries=0, timeout=20)
    tools = [{"name": "read_file", "description": "d", "input_schema": SCHEMA}]
    with client.messages.stream(
        model="scripted", messages=[{"role": "user", "content": "u"}], tools=tools, max_tokens=100
    ) as stream:
        for _ in stream:
            pass
        message = stream.get_final_message()
    usage = message.usage
    return {
        "text": "".join(b.text for b in message.content if b.type == "text"),
        "calls": [[b.name, b.input] for b in message.content if b.type == "tool_use"],
        "stop": {"end_turn": "stop", "tool_use": "tool_calls"}[message.stop_reason],
        "usage": [usage.input_tokens + usage.cache_read_input_tokens, usage.cache_read_input_tokens, usage.output_tokens],
    }


EXPECTED = [
    {"text": "grün, in pieces", "calls": [], "stop": "stop", "usage": [40, 30, 7]},
    {
        "text": "reading",
        "calls": [["read_file", {"path": "a b.rs"}], ["read_file", {"path": "c.rs"}]],
        "stop": "tool_calls",
        "usage": [40, 30, 7],
    },
]


def main():
    server = subprocess.Popen([sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        base = server.stdout.readline().strip()
        wrong = 0
        for name, ask in [("chat", chat), ("messages", messages)]:
            for expected in EXPECTED:
                got = ask(base)
                if got != expected:
                    wrong += 1
                    print(f"{name}: expected {expected}, got {got}")
        print(f"sdk_check: {2 * len(EXPECTED) - wrong} streams understood, {wrong} not")
        return 1 if wrong else 0
    finally:
        server.stdin.close()
        server.wait(timeout=20)


if __name__ == "__main__":
    sys.exit(main())
