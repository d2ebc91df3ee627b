//! What models answer.

use super::*;

#[track_caller]
fn check_parsed(answer: &str) {
    let model = parse(answer).unwrap_or_else(|problems| panic!("{problems:?}\n{answer}"));
    for section in Section::models() {
        assert_eq!(model.section(section), "Body.", "{section:?}\n{answer}");
    }
    assert_eq!(model.section(Section::Said), "");
}

#[track_caller]
fn check_problems(answer: &str, expected: &[Problem]) {
    assert_eq!(parse(answer), Err(expected.to_vec()), "{answer}");
}

fn dressed(heading: impl Fn(Section) -> String) -> String {
    Section::models().map(|section| format!("{}\nBody.\n\n", heading(section))).collect::<Vec<_>>().concat()
}

#[test]
fn headings_are_known_in_any_dress() {
    check_parsed(&answer("Body."));
    check_parsed(&dressed(|section| format!("### {}", section.title())));
    check_parsed(&dressed(|section| format!("**{}. {}:**", section.number(), section.title())));
    check_parsed(&dressed(|section| format!("{}) {}", section.number(), section.title().to_uppercase())));
    check_parsed(&dressed(|section| {
        format!("# Section {}: {}", section.number(), section.title().replace(" and ", " & "))
    }));
    check_parsed(&dressed(|section| section.title().to_owned()));
    check_parsed(&dressed(|section| format!("## {}. 标题", section.number())));
    check_parsed(&answer("Body.").replace("Next step and where to look", "Next Step"));
    check_parsed(&answer("Body.").replace('\n', "\r\n"));
    let inline = Section::models().map(|section| format!("**{}. {}:** Body.\n", section.number(), section.title()));
    check_parsed(&inline.collect::<String>());
}

#[test]
fn what_stands_around_is_left_out() {
    let good = answer("Body.");
    check_parsed(&format!("Sure, here is the summary:\n\n{good}"));
    check_parsed(&format!("```markdown\n{good}\n```"));
    check_parsed(&format!("<analysis>\n{}\n</analysis>\n<summary>\n{good}\n</summary>", answer("Draft.")));
    check_parsed(&format!("<think>hm\n## 2. Key technical concepts\n</think>{good}"));
    check_parsed(&format!("{}</think>\n{good}", answer("Draft.")));
    check_parsed(&format!("<think>\nhm\n{good}"));
    let with_six = good.replace("## 7.", "## 6. All user messages\nUser said: push.\n## 7.");
    check_parsed(&with_six);
}

#[test]
fn code_in_a_section_is_no_heading() {
    let code = "```\n## 1. Primary request and intent\n```";
    let model = parse(&answer(code)).unwrap();
    assert_eq!(model.section(Section::Concepts), code);
    let open = answer("Body.").replacen("Body.", "Body.\n```rust\nfn a() {}", 1);
    let model = parse(&open).unwrap();
    assert_eq!(model.section(Section::Intent), "Body.\n```rust\nfn a() {}\n```");
}

#[test]
fn what_is_no_summary_is_told_why() {
    check_problems("", &[Problem::Empty]);
    check_problems(" <think>nothing else</think>\n", &[Problem::Empty]);
    check_problems("I can't help with that.", &[Problem::NoSections]);
    check_problems("<tool_call>{\"name\":\"grep\"}</tool_call>", &[Problem::NoSections]);
    let good = answer("Body.");
    let cut = good.split("## 8.").next().unwrap();
    check_problems(cut, &[Problem::Missing(vec![Section::Current, Section::Next])]);
    check_problems(
        &good.replacen("## 3. Files and code sections\nBody.", "## 3. Files and code sections\n", 1),
        &[Problem::Missing(vec![Section::Files])],
    );
    let swapped = good
        .replace("2. Key technical concepts", "X")
        .replace("3. Files and code sections", "2. Key technical concepts");
    let swapped = swapped.replace('X', "3. Files and code sections");
    check_problems(&swapped, &[Problem::Order(Section::Concepts)]);
    check_problems(&format!("{good}\n{}", Section::Current.heading()), &[Problem::Order(Section::Current)]);
}

#[test]
fn an_answer_is_held_against_what_is_known() {
    let facts = facts();
    let host = host(&facts);
    let problems = |body: &str, against: Against<'_>| accept(&answer(body), &host, &facts, against).unwrap_err();
    assert_eq!(problems("See e/c99@r3.", LARGE), [Problem::Evidence(vec!["e/c99@r3".to_owned()])]);
    assert_eq!(problems("c7 was completed.", LARGE), [Problem::CalledDone(CallId(7))]);
    let long = "a long tale. ".repeat(2_000);
    assert!(matches!(problems(&long, LARGE)[..], [Problem::TooLarge { limit: 6_000, .. }]));
    assert!(matches!(
        problems("Short.", Against { replaces: 100, texts: &[] })[..],
        [Problem::NotSmaller { replaces: 100, .. }]
    ));
    let prompts = Prompts::default();
    let demand = ask::demand(&prompts, &host, &facts, None);
    let against = Against { replaces: u64::MAX, texts: &[&demand] };
    assert!(matches!(problems(&demand[700..], against)[..], [Problem::Repeats(_), ..] | [_, Problem::Repeats(_)]));
    assert!(accept(&answer("Whether c7 is done is not known. See e/c2@r3."), &host, &facts, against).is_ok());
}
