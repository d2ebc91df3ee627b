"""Writes a model for llama.cpp that is tiny and does as it is told: make_model.py OUT.gguf TEMPLATE TOLD.json

One token is one byte of UTF-8, beside a few tokens for the frame of messages, one for each of `calls` in TOLD.json (a list of
{"name", "arguments"}) and one for its `summary`. Attention and feed-forward add nothing, so that the next token depends on the
last one only: after "assistant\\n" comes "Done.", after `<|call3|>` the whole third call, after `<|summary|>` the summary. The
engine around it (tokens, KV cache, prefix cache, parsing of calls) is the real one.
"""

import json
import sys

import gguf
import numpy

CONTEXT = 131_072
WIDTH, HEADS, KV_HEADS, INNER = 64, 4, 1, 32
ANSWER = "Done."


def printable_bytes():
    """The letters by which a byte-level vocabulary writes the 256 bytes."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {**{byte: chr(byte) for byte in plain}, **{byte: chr(256 + at) for at, byte in enumerate(others)}}


def call_text(call):
    """A call as the template writes it."""
    arguments = json.dumps(call["arguments"], ensure_ascii=False)
    return f'\n<tool_call>\n{{"name": "{call["name"]}", "arguments": {arguments}}}\n</tool_call>'


def main():
    out, template, told = sys.argv[1:]
    told = json.load(open(told, encoding="utf-8"))
    calls = [call_text(call) for call in told["calls"]]
    letters = printable_bytes()
    tokens = [letters[byte] for byte in range(256)]
    kinds = [gguf.TokenType.NORMAL] * 256

    def token(text, kind):
        tokens.append(text)
        kinds.append(kind)
        return len(tokens) - 1

    end_of_text, _, end = (token(text, gguf.TokenType.CONTROL) for text in ["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    follows = {}
    for number, text in enumerate(calls):
        chosen = token(f"<|call{number}|>", gguf.TokenType.CONTROL)
        follows[chosen] = token(text, gguf.TokenType.USER_DEFINED)
    follows[token("<|summary|>", gguf.TokenType.CONTROL)] = token(told["summary"], gguf.TokenType.USER_DEFINED)
    for byte, after in zip(b"\n" + ANSWER.encode(), ANSWER.encode()):
        follows[byte] = after

    # Each token that has a follower gets a dimension of its own, all the others share the last one: after them comes the end.
    size = len(tokens)
    assert len(follows) < WIDTH, "too many calls for this width"
    embedding, output = (numpy.zeros((size, WIDTH), numpy.float32) for _ in range(2))
    embedding[:, WIDTH - 1] = 1
    output[end, WIDTH - 1] = 8
    for at, (this, after) in enumerate(follows.items()):
        embedding[this, WIDTH - 1] = 0
        embedding[this, at] = 1
        output[after, at] = 8

    writer = gguf.GGUFWriter(out, "llama")
    writer.add_name("as-told")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(size)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    # There must be merges; this one joins two bytes that no text has.
    writer.add_array("tokenizer.ggml.merges", [f"{letters[0]} {letters[1]}"])
    writer.add_bos_token_id(end_of_text)
    writer.add_eos_token_id(end)
    writer.add_add_bos_token(False)
    writer.add_chat_template(open(template, encoding="utf-8").read())

    random = numpy.random.default_rng(1)

    def matrix(rows, columns):
        return (random.standard_normal((rows, columns)) * 0.1).astype(numpy.float32)

    ones = numpy.ones(WIDTH, numpy.float32)
    narrow = KV_HEADS * WIDTH // HEADS
    for name, tensor in {
        "token_embd": embedding,
        "output_norm": ones,
        "output": output,
        "blk.0.attn_norm": ones,
        "blk.0.attn_q": matrix(WIDTH, WIDTH),
        "blk.0.attn_k": matrix(narrow, WIDTH),
        "blk.0.attn_v": matrix(narrow, WIDTH),
        "blk.0.attn_output": numpy.zeros((WIDTH, WIDTH), numpy.float32),
        "blk.0.ffn_norm": ones,
        "blk.0.ffn_gate": matrix(INNER, WIDTH),
        "blk.0.ffn_up": matrix(INNER, WIDTH),
        "blk.0.ffn_down": numpy.zeros((WIDTH, INNER), numpy.float32),
    }.items():
        writer.add_tensor(f"{name}.weight", tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


main()
