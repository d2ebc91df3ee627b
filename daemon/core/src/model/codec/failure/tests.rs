use super::*;

fn class(status: u16, body: &str) -> ErrorClass {
    classify(status, &[], body.as_bytes(), Timestamp(0)).class
}

fn wait(name: &str, value: &str) -> Option<u64> {
    // Sun, 06 Nov 1994 08:49:37 GMT.
    let now = Timestamp(784_111_777_000);
    classify(429, &[(name.to_owned(), value.to_owned())], b"", now).retry_after_ms
}

#[test]
fn retry_after_is_read_in_all_its_forms() {
    assert_eq!(wait("Retry-After", "3"), Some(3000));
    assert_eq!(wait("retry-after", "0.5"), Some(500));
    assert_eq!(wait("RETRY-AFTER", " 7200 "), Some(7_200_000));
    assert_eq!(wait("retry-after-ms", "1250"), Some(1250));
    assert_eq!(wait("retry-after", "Sun, 06 Nov 1994 08:49:40 GMT"), Some(3000));
    assert_eq!(wait("retry-after", "Sun, 06 Nov 1994 08:49:00 GMT"), Some(0));
    for bad in ["abc", "", "-1", "NaN", "inf", "1e40", "Sun, 99 Nov 1994"] {
        assert_eq!(wait("retry-after", bad), None, "{bad}");
    }
}

#[test]
fn refusals_that_mean_the_window_are_told_from_others() {
    use ErrorClass::{BadRequest, ContextTooLong, RateLimited};
    for (status, body, expected) in [
        (
            400,
            r#"{"error":{"message":"m","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
            ContextTooLong,
        ),
        (
            400,
            r#"{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000.","type":"BadRequestError","code":400}"#,
            ContextTooLong,
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"request (12031 tokens) exceeds the available context size (8192 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":12031,"n_ctx":8192}}"#,
            ContextTooLong,
        ),
        (
            500,
            r#"{"error":{"code":500,"message":"the prompt does not fit","type":"exceed_context_size_error","n_ctx":8192}}"#,
            ContextTooLong,
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
            ContextTooLong,
        ),
        (413, "<html><head><title>413 Request Entity Too Large</title></head></html>", ContextTooLong),
        (413, "", ContextTooLong),
        (
            400,
            r#"{"error":{"message":"Unknown parameter: 'context_length'.","type":"invalid_request_error","param":"context_length","code":"unknown_parameter"}}"#,
            BadRequest,
        ),
        (
            400,
            r#"{"error":{"message":"Invalid 'messages[2].content': 'maximum context length is 5 tokens, what does that mean'","type":"invalid_request_error","code":null}}"#,
            BadRequest,
        ),
        (429, r#"{"message":"Too many tokens, please wait before trying again."}"#, RateLimited),
        (
            502,
            r#"{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"This endpoint's maximum context length is 9 tokens\"}}","provider_name":"x"}}}"#,
            ContextTooLong,
        ),
    ] {
        assert_eq!(class(status, body), expected, "{status} {body}");
    }
}

#[test]
fn classes_follow_from_codes_and_status() {
    use ErrorClass::{Auth, BadRequest, Protocol, Quota, RateLimited, Unavailable};
    for (status, body, expected) in [
        (
            429,
            r#"{"error":{"message":"You exceeded your current quota, please check your plan","type":"insufficient_quota","code":"insufficient_quota"}}"#,
            Quota,
        ),
        (
            402,
            r#"{"error":{"message":"Insufficient Balance","type":"unknown_error","code":"invalid_request_error"}}"#,
            Quota,
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}"#,
            Quota,
        ),
        (
            429,
            r#"{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}"#,
            RateLimited,
        ),
        (401, r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#, Auth),
        (403, "", Auth),
        (400, r#"{"error":{"message":"bad","type":"invalid_request_error"}}"#, BadRequest),
        (404, r#"{"detail":"Not Found"}"#, BadRequest),
        (422, r#"{"detail":[{"loc":["body"],"msg":"field required"}]}"#, BadRequest),
        (408, "", Unavailable),
        (409, "", Unavailable),
        (500, "oops", Unavailable),
        (503, r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#, Unavailable),
        (529, r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, Unavailable),
        (307, "", Protocol),
    ] {
        assert_eq!(class(status, body), expected, "{status} {body}");
    }
}

#[test]
fn errors_inside_a_stream_have_their_class() {
    use ErrorClass::{Auth, BadRequest, ContextTooLong, Quota, RateLimited, Unavailable};
    for (json, expected) in [
        (r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, Unavailable),
        (r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}"#, RateLimited),
        (r#"{"type":"error","error":{"type":"invalid_request_error","message":"no"}}"#, BadRequest),
        (r#"{"type":"error","error":{"type":"authentication_error","message":"no"}}"#, Auth),
        (r#"{"error":{"code":502,"message":"upstream"}}"#, Unavailable),
        (r#"{"error":{"code":429,"message":"upstream"}}"#, RateLimited),
        (r#"{"error":{"code":"insufficient_quota","message":"upstream"}}"#, Quota),
        (r#"{"error":{"code":"context_length_exceeded","message":"upstream"}}"#, ContextTooLong),
        (r#"{"error":"something"}"#, Unavailable),
    ] {
        assert_eq!(in_stream(json).class, expected, "{json}");
    }
}

#[test]
fn messages_have_status_kind_and_the_providers_bounded_words() {
    let message = |status, body: &str| classify(status, &[], body.as_bytes(), Timestamp(0)).message;
    assert_eq!(
        message(401, r#"{"type":"error","error":{"type":"authentication_error","message":"invalid\nx-api-key"}}"#),
        "HTTP 401 (authentication_error): invalid x-api-key"
    );
    assert_eq!(message(404, "<html><title>Not here</title>"), "HTTP 404: Not here");
    assert_eq!(message(503, ""), "HTTP 503: the server has a problem or too much to do");
    assert_eq!(message(500, "<html>"), "HTTP 500: a web page");
    assert_eq!(message(500, &"x".repeat(100_000)).chars().count(), "HTTP 500: ".len() + MAX_WORDS + 1);
    let redirect = classify(308, &[("Location".into(), "https://other.example/v1".into())], b"", Timestamp(0));
    assert_eq!(
        redirect.message,
        "HTTP 308; it redirects to https://other.example/v1: set base_url to where the API really is"
    );
    assert_eq!(
        in_stream(r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#).message,
        "the provider broke off the answer (overloaded_error): Overloaded"
    );
}
