use super::*;
use plimsoll_protocol::transcript::Item;

fn delta(step: u64, block: u32, offset: u64, text: &str) -> Event {
    Event::TextDelta { turn: 1, step, block, offset, text: text.to_owned() }
}

fn item(step: u64, body: ItemBody) -> Event {
    Event::ItemAdded { item: Box::new(Item { no: 1, turn: 1, step, at: 0, out_of_view: false, body }) }
}

fn assistant(step: u64, text: &str) -> Event {
    item(step, ItemBody::Assistant { text: text.to_owned(), cut: false })
}

fn result(status: CallStatus, text: &str) -> Event {
    let body = ItemBody::ToolResult {
        call: "c1".to_owned(),
        tool: "grep".to_owned(),
        status,
        text: Some(text.to_owned()),
        data: None,
        revision: "r1".to_owned(),
        approximate: false,
    };
    item(1, body)
}

/// All text and all lines that these events put on an empty screen.
fn shown(events: &[Event]) -> (String, Vec<String>) {
    let mut screen = Screen::new(1, Style::PLAIN);
    let mut all = (String::new(), Vec::new());
    for event in events {
        let shown = screen.event(event);
        all.0.push_str(&shown.text);
        all.1.extend(shown.notes);
    }
    all
}

#[test]
fn an_answer_is_printed_once_however_it_comes() {
    let whole = assistant(1, "one two");
    let cases: [&[Event]; 5] = [
        &[delta(1, 0, 0, "one"), delta(1, 0, 3, " two"), whole.clone()],
        std::slice::from_ref(&whole),
        &[delta(1, 0, 0, "one"), whole.clone()],
        // Attached anew: a delta says again what came before.
        &[delta(1, 0, 0, "one"), delta(1, 0, 0, "one tw"), whole.clone()],
        // A delta was lost, and one comes late.
        &[delta(1, 0, 0, "on"), delta(1, 0, 4, "two"), whole.clone(), delta(1, 0, 2, "e two")],
    ];
    for events in cases {
        assert_eq!(shown(events), ("one two".to_owned(), vec![]), "{events:?}");
    }
}

#[test]
fn an_answer_that_begins_anew_is_printed_whole() {
    let cases: [(&[Event], &str); 4] = [
        // It says the same, in other pieces: as after an attach.
        (&[delta(1, 0, 0, "one two"), delta(1, 0, 0, "one"), delta(1, 0, 3, " two three")], "one two three"),
        (&[delta(1, 0, 0, "one two"), delta(1, 0, 0, "one"), delta(1, 0, 3, " three")], "one two\n\none three"),
        (&[delta(1, 0, 0, "one two"), delta(1, 0, 0, "one"), assistant(1, "one three")], "one two\n\none three"),
        (&[delta(1, 0, 0, "one two"), assistant(1, "one")], "one two\n\none"),
    ];
    for (events, expected) in cases {
        assert_eq!(shown(events), (expected.to_owned(), vec![]), "{events:?}");
    }
}

#[test]
fn blocks_are_paragraphs() {
    let events = [
        delta(1, 0, 0, "I look."),
        assistant(1, "I look."),
        delta(2, 1, 0, "Found.\n"),
        assistant(2, "Found.\n"),
        assistant(3, "Done."),
    ];
    assert_eq!(shown(&events).0, "I look.\n\nFound.\n\nDone.");
}

#[test]
fn tools_and_notices_are_lines_beside_the_answer() {
    let events = [
        Event::ToolStarted { call: "c1".to_owned(), title: "grep\nfoo".to_owned() },
        result(CallStatus::Ok, "<x>\n3 matches\nmore"),
        result(CallStatus::Denied, "not allowed"),
        item(1, ItemBody::Notice { cause: "retry".to_owned(), text: "again in 2 s".to_owned() }),
        delta(1, 0, 0, "text"),
        Event::ToolStarted { call: "c2".to_owned(), title: "ls".to_owned() },
    ];
    let lines = ["• grep foo", "  ok: 3 matches", "  grep denied: not allowed", "again in 2 s", "", "• ls"];
    assert_eq!(shown(&events), ("text".to_owned(), lines.map(str::to_owned).to_vec()));
}

#[test]
fn a_plan_is_one_line() {
    let todo = |content: &str, status| Todo { id: "1".to_owned(), content: content.to_owned(), status };
    let todos =
        vec![todo("a", TodoStatus::Completed), todo("b", TodoStatus::InProgress), todo("c", TodoStatus::Pending)];
    let event = Event::PlanChanged { call: "c1".to_owned(), todos };
    assert_eq!(shown(&[event]).1, ["• plan 1/3: b"]);
}

#[test]
fn other_turns_are_not_shown() {
    let mut screen = Screen::new(2, Style::PLAIN);
    assert_eq!(screen.event(&delta(1, 0, 0, "other")), Shown::default());
    assert_eq!(screen.event(&assistant(1, "other")), Shown::default());
}

#[test]
fn the_answer_cannot_command_the_terminal() {
    assert_eq!(shown(&[delta(1, 0, 0, "a\x1b]0;title\x07b\n")]).0, "a\u{fffd}]0;title\u{fffd}b\n");
}

#[test]
fn the_last_line_says_what_it_took_and_how_to_go_on() {
    let mut screen = Screen::new(1, Style::PLAIN);
    assert_eq!(screen.end(Some("s1")).unwrap(), "session s1 · go on: plimsoll ask --session s1 \"…\"");
    screen.completed(Usage { input: 120, cache_read: 100, cache_write: 0, output: 7 }, Some(0.01234));
    let expected = "120 tokens in (100 cached), 7 out · $0.0123 · session s1 · go on: plimsoll ask --session s1 \"…\"";
    assert_eq!(screen.end(Some("s1")).unwrap(), expected);
    assert_eq!(screen.end(None).unwrap(), "120 tokens in (100 cached), 7 out · $0.0123");
}

#[test]
fn what_the_host_knows_stands_in_one_line_where_files_changed() {
    let screen = Screen::new(1, Style::PLAIN);
    let tests = |passed, current| Verified {
        call: "c7".to_owned(),
        passed,
        revision: "r42".to_owned(),
        current,
        partial: false,
    };
    let facts = |files: usize, tests: Option<&Verified>| screen.facts(&vec!["/w/a".to_owned(); files], tests).notes;
    assert_eq!(facts(0, Some(&tests(true, true))), Vec::<String>::new());
    assert_eq!(facts(1, None), ["1 file changed · no tests were run"]);
    assert_eq!(
        facts(2, Some(&tests(true, true))),
        ["2 files changed · tests passed at r42, nothing has changed since"]
    );
    assert_eq!(
        facts(1, Some(&Verified { partial: true, ..tests(true, true) })),
        ["1 file changed · some tests passed at r42, nothing has changed since"]
    );
    assert_eq!(
        facts(1, Some(&tests(false, false))),
        ["1 file changed · tests did not pass at r42, files have changed since"]
    );
}
