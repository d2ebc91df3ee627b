//! Whether a refusal means that the request does not fit the model's window. Every server says it in its own words; what
//! is looked for is the error's code, or the whole shape of a known sentence outside of quotes. That the words "context
//! length" occur says nothing: the user's own text may be quoted.

/// Values of `type` or `code` that say it.
const CODES: &[&str] = &[
    "context_length_exceeded",
    "context_window_exceeded",
    "exceed_context_size_error",
    "model_context_window_exceeded",
    "request_too_large",
];

/// Sentences that say it, in lower case; `#` is a number. They occur somewhere in the message, since gateways put their
/// own words before.
const SHAPES: &[&str] = &[
    // Anthropic.
    "prompt is too long: # tokens > # maximum",
    "exceed context limit: # + # > #",
    // OpenAI.
    "exceeds the context window",
    // vLLM, OpenRouter, older OpenAI models, SGLang.
    "maximum context length is # tokens",
    "maximum context length of # tokens",
    "longer than the model's context length",
    // Gemini.
    "input token count (#) exceeds the maximum",
    "input token count exceeds the maximum",
    // xAI.
    "maximum prompt length is #",
    // Groq.
    "reduce the length of the messages",
    // Copilot.
    "token count of # exceeds the limit of #",
    // llama.cpp.
    "exceeds the available context size",
    // LM Studio.
    "greater than the context length",
    // MiniMax.
    "context window exceeds limit",
    // Kimi.
    "exceeded model token limit",
    // Mistral.
    "too large for model with # maximum context length",
    // GLM, Poolside.
    "exceeds the maximum allowed input length of # tokens",
    // Bedrock.
    "input is too long for requested model",
];

/// Sentences that say it only when they are the whole message.
const ALONE: &[&str] = &["prompt is too long", "request entity too large", "input is too long"];

/// Whether the code says it.
pub(super) fn by_code(code: &str) -> bool {
    CODES.contains(&code)
}

/// Whether the provider's own words say it.
pub(super) fn by_message(message: &str) -> bool {
    let message = without_quotes(&message.to_lowercase());
    let whole = message.trim().trim_end_matches(['.', '!']);
    ALONE.contains(&whole) || SHAPES.iter().any(|shape| contains_shape(&message, shape))
}

fn contains_shape(message: &str, shape: &str) -> bool {
    let first = shape.split('#').next().unwrap_or_default();
    message.match_indices(first).any(|(at, _)| message.get(at..).is_some_and(|rest| starts_with_shape(rest, shape)))
}

fn starts_with_shape(message: &str, shape: &str) -> bool {
    let mut rest = message;
    for (at, part) in shape.split('#').enumerate() {
        if at > 0 {
            let after = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ',' || c == '_');
            if after.len() == rest.len() || !rest.starts_with(|c: char| c.is_ascii_digit()) {
                return false;
            }
            rest = after;
        }
        match rest.strip_prefix(part) {
            Some(after) => rest = after,
            None => return false,
        }
    }
    true
}

/// `text` without what stands between quotation marks. A single quotation mark inside a word is an apostrophe.
fn without_quotes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut until: Option<char> = None;
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match until {
            Some(end) if c == end => {
                let word_goes_on = end == '\'' && chars.peek().is_some_and(|next| next.is_alphanumeric());
                if !word_goes_on {
                    until = None;
                }
            }
            Some(_) => {}
            None => {
                until = match c {
                    '"' | '`' => Some(c),
                    '\'' if !before.is_alphanumeric() => Some(c),
                    '\u{201c}' => Some('\u{201d}'),
                    '\u{ab}' => Some('\u{bb}'),
                    _ => None,
                };
                if until.is_none() {
                    out.push(c);
                }
            }
        }
        before = c;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_of_known_servers_are_recognised() {
        for message in [
            "prompt is too long: 210000 tokens > 200000 maximum",
            "Prompt is too long",
            "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length",
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
            "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.",
            "litellm.BadRequestError: OpenAIException - This model's maximum context length is 8,192 tokens.",
            "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
            "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
            "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
            "Please reduce the length of the messages or completion.",
            "prompt token count of 130000 exceeds the limit of 128000",
            "request (12031 tokens) exceeds the available context size (8192 tokens), try increasing it",
            "The number of tokens to keep from the initial prompt is greater than the context length",
            "invalid params, context window exceeds limit (2013)",
            "Invalid request: Your request exceeded model token limit: 262144",
            "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
            "Input exceeds the maximum allowed input length of 98304 tokens.",
            "Input is too long for requested model.",
            "Request Entity Too Large",
        ] {
            assert!(by_message(message), "{message}");
        }
    }

    #[test]
    fn quoted_text_and_other_refusals_are_not() {
        for message in [
            "Unrecognized request argument supplied: context_length",
            "Invalid value for messages[3]: \"why is my context length too small?\"",
            "Invalid content 'this model's maximum context length is 4096 tokens' in messages[1]",
            "Invalid content `prompt is too long: 5 tokens > 4 maximum`",
            "The user asked: \u{201c}your input exceeds the context window\u{201d}; that role is not allowed",
            "the maximum context length is a number",
            "the number of tools exceeds the limit of 128",
            "Too many tokens, please wait before trying again.",
            "messages: the prompt is too long ago to be shown",
        ] {
            assert!(!by_message(message), "{message}");
        }
    }
}
