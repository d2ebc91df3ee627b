use super::*;
use proptest::prelude::*;

fn record(no: u64, turn: u64, text: &str) -> Record {
    Record { no: ItemNo(no), turn: TurnNo(turn), text: text.to_owned() }
}

/// What the store gives for a part of these records, of which at most `most` bytes are read.
fn account(all: &[Record], part: Part, most: usize) -> Account {
    let of = |turn: TurnNo| all.iter().filter(move |record| record.turn == turn).cloned();
    let bounded = |records: Vec<Record>| {
        let mut bytes = 0;
        let fit = records.iter().take_while(|record| {
            let fits = bytes < most;
            bytes += record.text.len();
            fits
        });
        let fit = fit.count();
        (records[..fit].to_vec(), fit == records.len())
    };
    let end = match part {
        Part::Recent => all.last().map(|record| record.turn).unwrap_or_default(),
        Part::Turn(turn) => turn,
        Part::From(place) => all.iter().find(|record| record.no == place.item).unwrap().turn,
    };
    let (records, complete) = match part {
        Part::From(place) => bounded(of(end).filter(|record| record.no >= place.item).collect()),
        Part::Recent | Part::Turn(_) => {
            let whole: Vec<Record> = all.iter().filter(|record| record.turn <= end).cloned().collect();
            let bytes: usize = whole.iter().map(|record| record.text.len()).sum();
            if bytes < most { (whole, true) } else { bounded(of(end).collect()) }
        }
    };
    let first = records.first().map(|record| record.turn);
    let before = all.iter().rev().map(|record| record.turn).find(|turn| Some(*turn) < first);
    let background = match all.first() {
        Some(first) if part == Part::Recent => Background::Request { item: first.no, text: first.text.clone() },
        _ => Background::Nothing,
    };
    let last = all.last();
    Account {
        session: None,
        title: "T".to_owned(),
        items: last.map(|record| record.no).unwrap_or_default(),
        turns: last.map(|record| record.turn).unwrap_or_default(),
        transcript: "/d/s/transcript.txt".to_owned(),
        background,
        records,
        complete,
        before,
    }
}

/// The arguments of the call that stands behind this in a notice.
fn named(page: &str, what: &str) -> Option<serde_json::Value> {
    let at = page.find(what)?;
    let call = page[at + what.len()..].lines().next()?.strip_prefix("read_session ")?.strip_suffix(']')?;
    serde_json::from_str(call).ok()
}

/// Follows a turn from a place on to its end: what its pages show, put together.
fn turn_from(all: &[Record], page: &str, turn: TurnNo, begin: Place, budget: u64, most: usize) -> String {
    let (mut page, mut at, mut whole) = (page.to_owned(), begin, String::new());
    // A page of 40 tokens shows as many bytes at least.
    for _ in 0..10_000 {
        let head = format!("\nTurn {turn}, ");
        let from = page.find(&head).expect("the turn's head") + 1;
        let body = page[from..].split_once('\n').expect("a body").1;
        let next = named(body, &format!("[turn {turn} goes on: "));
        let next: Option<Place> = next.map(|args| args["cursor"].as_str().expect("a cursor").parse().expect("a place"));
        let text = |upto: Option<Place>| -> String {
            let part = all.iter().filter(|record| record.turn == turn && record.no >= at.item);
            let part = part.filter(|record| upto.is_none_or(|upto| record.no <= upto.item));
            part.map(|record| {
                let start = if record.no == at.item { at.byte } else { 0 };
                let end = upto.filter(|upto| upto.item == record.no).map_or(record.text.len(), |upto| upto.byte);
                &record.text[start..end]
            })
            .collect()
        };
        let expected = text(next);
        assert!(!expected.is_empty(), "it makes progress");
        assert!(body.starts_with(&expected), "{body:?} / {expected:?}");
        whole.push_str(&expected);
        let Some(next) = next else { return whole };
        at = next;
        page = account(all, Part::From(at), most).show(Part::From(at), budget);
    }
    panic!("the turn has no end")
}

#[test]
fn a_first_look_has_the_background_the_recent_turns_and_the_call_for_earlier_ones() {
    let all = [
        record(1, 1, "#1 t user:\nFix it\n"),
        record(2, 1, "#2 t assistant:\nDone\n"),
        record(3, 2, "#3 t user:\nMore\n"),
        record(4, 3, "#4 t user:\nEven more\n"),
    ];
    let shown = account(&all, Part::Recent, 1_000).show(Part::Recent, 2_000);
    let expected = "This session \"T\": 3 turns, 4 items, all in /d/s/transcript.txt\n\nBackground: the first request (#1)\n#1 t \
                    user:\nFix it\n\nTurn 1, #1 to #2\n#1 t user:\nFix it\n#2 t assistant:\nDone\n\nTurn 2, #3 to #3\n#3 t \
                    user:\nMore\n\nTurn 3, #4 to #4\n#4 t user:\nEven more\n\n[nothing stands before this]\n";
    assert_eq!(shown, expected);
    let few = account(&all, Part::Recent, 1_000).show(Part::Recent, HEADS + 40);
    assert_eq!(named(&few, "[earlier turns: "), Some(json!({"turn": 2})), "{few}");
    assert!(few.contains("Even more") && !few.contains("More\n\nTurn"), "{few}");
    let other = Account { session: "01b".parse().ok(), ..account(&all, Part::Recent, 1_000) };
    let few = other.show(Part::Recent, HEADS + 40);
    assert_eq!(named(&few, "[earlier turns: "), Some(json!({"session": "01b", "turn": 2})), "{few}");
    let summary = Account { background: Background::Summary("What was done".into()), ..other };
    assert!(summary.show(Part::Recent, 2_000).contains("\nBackground: the latest summary\nWhat was done\n\nTurn 1"));
    let nothing = account(&[], Part::Recent, 1_000).show(Part::Recent, 2_000);
    assert!(nothing.ends_with("\n\n[nothing was said in it yet]\n"), "{nothing}");
}

#[test]
fn places_parse_from_their_printed_form() {
    for (text, item, byte) in [("#17", 17, 0), (" #17+2000 ", 17, 2_000), ("#17+0", 17, 0)] {
        assert_eq!(text.parse(), Ok(Place { item: ItemNo(item), byte }), "{text}");
    }
    assert_eq!(Place { item: ItemNo(17), byte: 5 }.to_string(), "#17+5");
    for bad in ["", "17", "#", "#a", "#1+", "#1+-2", "c7:40", "#+1"] {
        assert!(bad.parse::<Place>().is_err(), "{bad:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn the_pages_together_are_the_transcript(
        items in prop::collection::vec((any::<bool>(), "[a-zäß \n]{0,60}", 1_usize..40), 1..30),
        budget in HEADS + 40..HEADS + 400, most in 50_usize..5_000,
    ) {
        let mut turn = 1;
        let mut all = Vec::new();
        for (no, (next, text, times)) in (1..).zip(items) {
            turn += u64::from(next && no > 1);
            all.push(record(no, turn, &format!("#{no} t user:\n{}\n", text.repeat(times))));
        }
        let mut part = Part::Recent;
        let mut expected_end = turn;
        let mut whole: Vec<String> = Vec::new();
        for _ in 0..100 {
            let page = account(&all, part, most).show(part, budget);
            let earlier = named(&page, "[earlier turns: ").map(|args| args["turn"].as_u64().unwrap());
            let first = earlier.map_or(1, |earlier| earlier + 1);
            prop_assert!(first <= expected_end);
            for turn in (first..=expected_end).rev() {
                let begin = all.iter().find(|record| record.turn == TurnNo(turn)).unwrap().no;
                let place = Place { item: begin, byte: 0 };
                whole.push(turn_from(&all, &page, TurnNo(turn), place, budget, most));
            }
            let Some(earlier) = earlier else { break };
            (part, expected_end) = (Part::Turn(TurnNo(earlier)), earlier);
        }
        whole.reverse();
        let original: String = all.iter().map(|record| record.text.as_str()).collect();
        prop_assert_eq!(whole.concat(), original);
    }
}
