//! Tests of framing: cases I01 to I03, and properties over any split.

use super::*;
use proptest::prelude::*;

fn decode(decoder: &mut Decoder, bytes: &[u8], out: &mut Vec<Frame>) -> Result<(), FramingError> {
    decoder.buffer().extend_from_slice(bytes);
    while let Some(frame) = decoder.next_frame()? {
        out.push(frame);
    }
    Ok(())
}

/// Feeds `bytes` in pieces that end at `cuts`.
fn in_pieces(bytes: &[u8], cuts: &[usize], limit: usize) -> (Vec<Frame>, Result<(), FramingError>) {
    let mut decoder = Decoder::with_limit(None, limit);
    let mut frames = Vec::new();
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    cuts.push(bytes.len());
    cuts.sort_unstable();
    let mut start = 0;
    for cut in cuts {
        if let Err(error) = decode(&mut decoder, &bytes[start..cut], &mut frames) {
            return (frames, Err(error));
        }
        start = cut;
    }
    (frames, Ok(()))
}

fn message(text: &str) -> Frame {
    Frame::Message(Bytes::copy_from_slice(text.as_bytes()))
}

fn check(input: &str, expected: &[Frame]) {
    for cuts in [vec![], (0..input.len()).collect::<Vec<_>>()] {
        assert_eq!(in_pieces(input.as_bytes(), &cuts, 1000), (expected.to_vec(), Ok(())), "{input:?}");
    }
}

fn check_error(input: &str, expected: &FramingError) {
    for cuts in [vec![], (0..input.len()).collect::<Vec<_>>()] {
        assert_eq!(in_pieces(input.as_bytes(), &cuts, 1000), (vec![], Err(expected.clone())), "{input:?}");
    }
}

#[test]
fn header_names_blanks_order_and_line_ends_do_not_matter() {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    for headers in [
        "content-length:40\r\n\r\n",
        "CONTENT-LENGTH:    40\r\n\r\n",
        "Content-Type: x; charset=utf-8\r\nContent-Length: 40\r\n\r\n",
        "Content-Length: 40\r\nContent-Length: 40\r\n\r\n",
        "Content-Length: 40\n\n",
        " \r\nContent-Length : 40 \r\n\r\n",
    ] {
        check(&format!("{headers}{body}\r\n{headers}{body}"), &[message(body), message(body)]);
    }
}

#[test]
fn a_header_block_without_a_valid_length_is_an_end() {
    let length = |text: &str| FramingError::Length(text.to_owned());
    check_error("Content-Type: x\r\n\r\n", &length("none"));
    for bad in ["Content-Length: -1", "Content-Length: x", "Content-Length: 0", "Content-Length:", "Content-Length: +5"]
    {
        check_error(&format!("{bad}\r\n\r\n{{}}"), &length(&format!("`{bad}`")));
    }
    check_error("Content-Length: 99999999999999999999\r\n\r\n", &length("`Content-Length: 99999999999999999999`"));
    check_error("Content-Length: 1\r\nContent-Length: 2\r\n\r\n", &length("two different ones"));
    check_error("hello there\r\n\r\n", &FramingError::NotAHeader("hello there".to_owned()));
}

#[test]
fn lines_may_be_blank_and_end_in_crlf() {
    check("\r\n {\"a\":1}\r\n\n  \n[2]\n{\"cut", &[message("{\"a\":1}\r"), message("[2]")]);
}

#[test]
fn a_declared_longer_message_is_skipped_exactly() {
    let long = "x".repeat(1001);
    let input = format!("Content-Length: 1001\r\n\r\n{long}Content-Length: 2\r\n\r\n{{}}");
    check(&input, &[Frame::TooLarge(1001), message("{}")]);
}

#[test]
fn an_endless_line_or_header_block_is_an_end() {
    check_error(&format!("{{\"x\":\"{}", "y".repeat(1000)), &FramingError::EndlessLine(1000));
    check_error(&format!("{{\"x\":\"{}\n", "y".repeat(1000)), &FramingError::EndlessLine(1000));
    check_error(&format!("X: {}", "y".repeat(HEADER_LIMIT)), &FramingError::EndlessHeaders);
    check_error(&"X: yyyyyyyy\r\n".repeat(2000), &FramingError::EndlessHeaders);
}

#[test]
fn a_declared_length_allocates_nothing() {
    let mut decoder = Decoder::new(None);
    let mut frames = Vec::new();
    decode(&mut decoder, b"Content-Length: 67108864\r\n\r\n{", &mut frames).unwrap();
    assert_eq!(frames, []);
    assert!(decoder.buffer().capacity() < 4 * READ_SIZE);
    decode(&mut decoder, &vec![b' '; MESSAGE_LIMIT - 1], &mut frames).unwrap();
    assert_eq!(frames.len(), 1);
    assert!(decoder.buffer().capacity() < 4 * READ_SIZE, "the buffer of a long message is given back");
}

#[test]
fn what_is_encoded_is_decoded() {
    for framing in [Framing::Headers, Framing::Lines] {
        let mut bytes = Vec::new();
        encode(framing, "{\"a\":\"\u{e9}\u{1F600}\"}", &mut bytes);
        encode(framing, "[1,\n2]", &mut bytes);
        let (frames, end) = in_pieces(&bytes, &[], 1000);
        let second = if framing == Framing::Lines { "[1, 2]" } else { "[1,\n2]" };
        assert_eq!((frames, end), (vec![message("{\"a\":\"\u{e9}\u{1F600}\"}"), message(second)], Ok(())));
    }
}

proptest! {
    #[test]
    fn any_split_gives_the_same_messages(
        bodies in proptest::collection::vec("\\{[a-z \u{e9}\u{1F600}\"]{0,40}\\}", 1..6),
        lines: bool,
        cuts in proptest::collection::vec(any::<usize>(), 0..30),
    ) {
        let framing = if lines { Framing::Lines } else { Framing::Headers };
        let mut bytes = Vec::new();
        for body in &bodies {
            encode(framing, body, &mut bytes);
        }
        let expected: Vec<Frame> = bodies.iter().map(|body| message(body)).collect();
        prop_assert_eq!(in_pieces(&bytes, &cuts, 1000), (expected, Ok(())));
    }

    #[test]
    fn any_bytes_come_to_an_end_and_the_split_does_not_matter(
        bytes in proptest::collection::vec(
            prop_oneof![any::<u8>(), Just(b'\n'), Just(b'\r'), Just(b':'), Just(b'{'), Just(b'1')], 0..200),
        with_header: bool,
        cuts in proptest::collection::vec(any::<usize>(), 0..30),
    ) {
        let mut input = if with_header { b"Content-Length: 12\r\n\r\n".to_vec() } else { Vec::new() };
        input.extend_from_slice(&bytes);
        prop_assert_eq!(in_pieces(&input, &cuts, 60), in_pieces(&input, &[], 60));
    }
}
