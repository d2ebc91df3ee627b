use super::*;
use proptest::prelude::*;

const LOG: &str = "/data/s1/artifacts/c7.log";

/// One token for four bytes, rounded up.
fn tokens(text: &str) -> u64 {
    (text.len() as u64).div_ceil(4)
}

fn numbered_lines(count: u32) -> String {
    (1..=count).map(|no| format!("line number {no}\n")).collect::<Vec<_>>().concat()
}

fn run(exit: Exit, output: &str, stderr: &str) -> CommandRun {
    let whole = |text: &str| Output { head: text.to_owned(), total_bytes: text.len() as u64, ..Output::default() };
    CommandRun {
        command: "make".into(),
        cwd: ".".into(),
        exit,
        duration_ms: 1_234,
        output: whole(output),
        stderr: whole(stderr),
        log: (!output.is_empty()).then(|| LOG.to_owned()),
        left_running: Vec::new(),
        limits: None,
    }
}

fn check(run: &CommandRun, facts: &[&str], body: &str) {
    let shown = project_command(run, CallId(7), 2_000, tokens);
    assert_eq!((shown.facts.join(" · "), shown.body.as_str(), shown.partial), (facts.join(" · "), body, false));
}

#[test]
fn a_short_result_is_shown_whole_with_its_end() {
    check(&run(Exit::Code(0), "a\n\nb\n", ""), &["exit code 0", "1.2 s", "3 lines"], "a\n\nb");
    check(&run(Exit::Code(7), "", ""), &["exit code 7", "1.2 s", "no output"], "");
    check(
        &run(Exit::Signal(9), "before", ""),
        &["exit code 137, ended by signal 9 (KILL)", "1.2 s", "1 line"],
        "before",
    );
    let mut not_started = run(Exit::NotStarted, "there is no shell", "");
    not_started.cwd = "sub".into();
    check(&not_started, &["not started", "1.2 s", "in sub"], "there is no shell");
}

#[test]
fn what_still_runs_is_named_with_the_way_to_end_it() {
    let mut run = run(Exit::Code(0), "ready\n", "");
    run.left_running = vec![41, 42];
    let expected = "[still running in the background: pid 41, 42. To end them: stop_task {\"id\":\"c7\"}. They end with the session. \
                    What they print is added to /data/s1/artifacts/c7.log.]\nready";
    check(&run, &["exit code 0", "1.2 s", "1 line"], expected);
}

#[test]
fn what_a_failed_command_was_held_to_is_said() {
    let held = |exit, left_running: &[u32]| {
        let left_running = left_running.to_vec();
        CommandRun { limits: Some("no network".into()), left_running, ..run(exit, "x\n", "") }
    };
    check(&held(Exit::Code(0), &[]), &["exit code 0", "1.2 s", "1 line"], "x");
    check(&held(Exit::Code(1), &[]), &["exit code 1", "1.2 s", "sandbox: no network", "1 line"], "x");
    check(&held(Exit::NotStarted, &[]), &["not started", "1.2 s", "sandbox: no network"], "x");
    let expected = "[still running in the background: pid 41. To end them: stop_task {\"id\":\"c7\"}. They end \
                    with the session. What they print is added to /data/s1/artifacts/c7.log.]\nx";
    check(&held(Exit::Code(0), &[41]), &["exit code 0", "1.2 s", "1 line"], expected);
}

#[test]
fn of_a_long_output_more_of_the_end_is_shown_and_the_gap_names_the_call() {
    let output: String = numbered_lines(5_000);
    let shown = project_command(&run(Exit::Code(0), &output, ""), CallId(7), 400, tokens);
    let lines: Vec<&str> = shown.body.lines().collect();
    let gap = lines.iter().position(|line| line.starts_with('[')).unwrap();
    let first_of_tail = 5_000 - (lines.len() - gap - 1) + 1;
    assert_eq!(lines[..gap].join("\n") + "\n", output[..=lines[..gap].join("\n").len()]);
    let hidden = first_of_tail - gap - 1;
    assert_eq!(
        lines[gap],
        format!(
            "[lines {}-{} ({hidden} lines) not shown: read_file \
             {{\"limit\":{hidden},\"offset\":{},\"target_file\":\"{LOG}\"}}]",
            gap + 1,
            first_of_tail - 1,
            gap + 1
        )
    );
    assert!(lines.len() - gap - 1 > 2 * gap, "{}", shown.body);
    assert!(shown.partial);
}

#[test]
fn standard_error_is_shown_whole_while_standard_output_is_cut() {
    let mut output: String = numbered_lines(3_000);
    output.insert_str(20_000, "error: the one that counts\n");
    let shown = project_command(&run(Exit::Code(1), &output, "error: the one that counts\n"), CallId(7), 400, tokens);
    assert!(shown.body.starts_with("[stdout and stderr as they came]\nline number 1\n"), "{}", shown.body);
    assert!(shown.body.ends_with("line number 3000\n[stderr alone]\nerror: the one that counts"), "{}", shown.body);
}

#[test]
fn standard_error_that_is_shown_anyway_is_not_repeated() {
    let mut output: String = numbered_lines(3_000);
    output.push_str("error: at the end\n");
    let shown = project_command(&run(Exit::Code(1), &output, "error: at the end\n"), CallId(7), 400, tokens);
    assert_eq!(shown.body.matches("error: at the end").count(), 1);
    assert!(!shown.body.contains("stderr"));
}

#[test]
fn a_gap_within_one_endless_line_is_told_in_bytes() {
    let mut run = run(Exit::TimedOut, &"x".repeat(600), "");
    run.output.omitted = 5_000;
    run.output.tail = "y".repeat(600);
    let shown = project_command(&run, CallId(7), 2_000, tokens);
    let expected = format!(
        "{}\n[5000 bytes of line 1 not shown: read_file {{\"limit\":1,\"offset\":1,\"target_file\":\"{LOG}\"}}]\n{}",
        "x".repeat(600),
        "y".repeat(600)
    );
    assert_eq!(shown.body, expected);
}

#[test]
fn a_log_over_its_cap_says_what_it_keeps() {
    let mut run = run(Exit::Code(0), "first\n", "");
    run.output.omitted = 300_000_000;
    run.output.omitted_lines = 1_000;
    run.output.tail = "last\n".into();
    run.output.total_bytes = 300_000_011;
    let expected = format!(
        "first\n[lines 2-1001 (1000 lines) not shown, the log keeps the first 134217728 and the last 134217728 bytes: \
         read_file {{\"offset\":2,\"target_file\":\"{LOG}\"}}]\nlast"
    );
    assert_eq!(project_command(&run, CallId(7), 2_000, tokens).body, expected);
}

fn output() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        8 => "[a-z \u{e4}\u{4F60}]{0,60}",
        1 => "[a-z]{1}".prop_map(|text| text.repeat(3_000)),
        1 => "[\u{4F60}\u{597D}]{1}".prop_map(|text| text.repeat(2_500)),
    ];
    (proptest::collection::vec(line, 0..120), any::<bool>())
        .prop_map(|(lines, ended)| lines.join("\n") + if ended { "\n" } else { "" })
}

proptest! {
    // Each case measures many pieces of long lines.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn it_fits_and_head_gap_and_tail_add_up(
        output in output(), stderr in output(), pids in proptest::collection::vec(1_u32..99_999, 0..4), budget in 400_u64..3_000,
    ) {
        let mut run = run(Exit::Code(1), &output, &stderr);
        run.left_running = pids;
        let shown = project_command(&run, CallId(7), budget, tokens);
        prop_assert!(tokens(&shown.body) <= budget, "{} > {budget}: {}", tokens(&shown.body), shown.body);
        let lines = Lines::of(&run.output);
        if !shown.partial {
            prop_assert!(shown.body.ends_with(output.strip_suffix('\n').unwrap_or(&output)));
            return Ok(());
        }
        // Every line is shown whole, or a notice names it.
        let room = Room { tokens, log: Some(LOG), capped: false };
        let shown = lines.show(budget, &room, true);
        let mut next = 1;
        for line in &shown.lines {
            let no = lines.head.get(next as usize - 1).map_or("", |(_, text)| text);
            let gap = line.strip_prefix("[lines ").or(line.strip_prefix("[line ")).filter(|_| line.contains(" not shown: read_file") && !line.contains(" characters of "));
            if let Some(gap) = gap {
                let range = gap.split([' ', ',']).next().unwrap_or_default();
                let (from, to) = range.split_once('-').unwrap_or((range, range));
                prop_assert_eq!(from.parse::<u64>().unwrap(), next);
                next = to.parse::<u64>().unwrap() + 1;
            } else {
                let cut = line.contains(&format!(" characters of line {next} not shown"));
                prop_assert!(line == no || cut, "line {next}: {line:?} is not {no:?}");
                next += 1;
            }
        }
        prop_assert_eq!(next, lines.last() + 1);
    }
}
