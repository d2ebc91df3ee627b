//! An inspected request for people, within 80 columns.

use super::super::out::{self, Style};
use plimsoll_protocol::context::{InspectedOf, Inspection, ItemRange, LayerInfo, PartInfo, Shortened};
use plimsoll_protocol::request::{ListResult, RequestInfo};
use std::fmt::Write as _;

/// Width of the bars.
const BAR: usize = 20;
/// Width of the gauge.
const GAUGE: usize = 60;
/// Parts of a layer that are shown; `--json` shows all.
const PARTS: usize = 8;

/// The layers as a stack, the load with its lines, the cache of the last requests, the cost.
pub fn inspection(inspection: &Inspection, recent: &ListResult, style: Style) -> String {
    let mut text = head(inspection, style);
    if let Some(refused) = &inspection.refused {
        let _ = writeln!(text, "\nNothing would be sent. {}", out::harmless(refused, true));
        return text;
    }
    text.push('\n');
    let most = inspection.layers.iter().map(|layer| layer.tokens).max().unwrap_or(0);
    for one in inspection.layers.iter().filter(|one| one.bytes > 0) {
        layer(&mut text, one, most, inspection.window.tokens, style);
    }
    text.push('\n');
    gauge(&mut text, inspection, style);
    if let Some(shortened) = &inspection.shortened {
        short(&mut text, shortened);
    }
    if let Some(since) = &inspection.since {
        let _ = writeln!(text, "since then  {} tokens in {}", thousands(since.tokens), items(&since.items));
    }
    cache(&mut text, inspection, recent, style);
    text
}

fn head(inspection: &Inspection, style: Style) -> String {
    let what = match (&inspection.of, inspection.request) {
        (InspectedOf::Last, Some(no)) => format!("request {no}, sent last; a turn runs"),
        _ => "the next request".to_owned(),
    };
    let mut text = format!("{}\n", style.bold(&format!("{what}, for {}", out::harmless(&inspection.model, false))));
    let _ = writeln!(
        text,
        "{} tokens, {} bytes, each with one origin below",
        thousands(inspection.tokens),
        thousands(inspection.bytes)
    );
    if let Some(opens) = &inspection.opens {
        let _ = writeln!(text, "a new epoch begins with it: {}", out::short(opens, 40));
    }
    text
}

/// What of the history is shown in short, and the last time that it got shorter.
fn short(text: &mut String, shortened: &Shortened) {
    let Shortened { results_cut, turns_through, summary, last } = shortened;
    let mut parts = Vec::new();
    if let Some(summary) = summary {
        let step = summary.through_step.map(|step| format!(", step {step}")).unwrap_or_default();
        parts.push(format!("summary to turn {}{step} (#{})", summary.through_turn, summary.last_item));
    }
    if let Some(turn) = turns_through {
        parts.push(format!("a line each to turn {turn}"));
    }
    if *results_cut > 0 {
        parts.push(format!("{} results cut", thousands(*results_cut)));
    }
    let _ = writeln!(text, "in short    {}", parts.join("; "));
    if let Some(last) = last {
        let levels: Vec<String> = last.levels.iter().map(|level| out::short(level, 12)).collect();
        let _ = writeln!(
            text,
            "shortened   {} → {} tokens by {} ({})",
            thousands(last.before),
            thousands(last.after),
            levels.join(", "),
            out::short(&last.cause, 16)
        );
    }
}

fn layer(text: &mut String, layer: &LayerInfo, most: u64, window: u64, style: Style) {
    let title = format!("{} {}", layer.layer, out::short(&layer.name, 24));
    let _ = writeln!(
        text,
        "{}{} {:>9}  {:>5}  {}",
        style.bold(&format!("{title:<24}")),
        bar(layer.tokens, most, BAR),
        thousands(layer.tokens),
        share(layer.tokens, window),
        style.dim(&state(layer))
    );
    let mut parts: Vec<&PartInfo> = layer.parts.iter().collect();
    let hidden = parts.len().saturating_sub(PARTS);
    if hidden > 0 {
        // The largest, in their order.
        let mut sizes: Vec<u64> = parts.iter().map(|part| part.bytes).collect();
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        let least = sizes.get(PARTS - 1).copied().unwrap_or(0);
        parts.retain(|part| part.bytes >= least);
        parts.truncate(PARTS);
    }
    for part in &parts {
        let name = out::short(&name(part), 38);
        let line = format!("  {name:<38} {:>9} tokens {:>11} B", thousands(part.tokens), thousands(part.bytes));
        let from = items(&part.items);
        let _ = writeln!(text, "{}", style.dim(format!("{line}  {from}").trim_end()));
    }
    if hidden > 0 {
        let shown: u64 = parts.iter().map(|part| part.bytes).sum();
        let line = format!("  and {hidden} more with {} B; --json has all", thousands(layer.bytes - shown));
        let _ = writeln!(text, "{}", style.dim(&line));
    }
}

/// What the cache is expected to do with a layer.
fn state(layer: &LayerInfo) -> String {
    let LayerInfo { tokens, cache_read, cache_write, .. } = layer;
    if *tokens == 0 {
        return String::new();
    }
    let new = tokens.saturating_sub(*cache_read).saturating_sub(*cache_write);
    let states = [(*cache_read, "read"), (*cache_write, "written"), (new, "new")];
    let some: Vec<&str> = states.iter().filter(|(count, _)| *count > 0).map(|(_, word)| *word).collect();
    some.join("+")
}

fn name(part: &PartInfo) -> String {
    match (part.origin.as_str(), &part.name, &part.path) {
        ("block", Some(tag), Some(path)) => format!("<{tag}> {path}"),
        ("block", Some(tag), None) => format!("<{tag}>"),
        ("cacheMark", ..) => "cache marks".to_owned(),
        ("framing", ..) => "framing: brackets, names, commas".to_owned(),
        ("params", ..) => "parameters".to_owned(),
        ("static", ..) => "static text".to_owned(),
        ("frame", ..) => "Plimsoll's own words around it".to_owned(),
        ("prompt", ..) => "<user_query>".to_owned(),
        (origin, Some(name), _) => format!("{origin} {name}"),
        (origin, None, _) => origin.to_owned(),
    }
}

/// `#17–#31, #40`.
pub fn items(ranges: &[ItemRange]) -> String {
    let one = |range: &ItemRange| {
        if range.first == range.last {
            format!("#{}", range.first)
        } else {
            format!("#{}–#{}", range.first, range.last)
        }
    };
    match ranges {
        [] => String::new(),
        [only] => one(only),
        [first, .., last] => format!("#{}…#{}", first.first, last.last),
    }
}

fn bar(count: u64, most: u64, width: usize) -> String {
    let full = filled(count, most, width);
    format!("{}{}", "█".repeat(full), " ".repeat(width - full))
}

/// Of `width` the part that `count` is of `most`; at least 1 of something.
fn filled(count: u64, most: u64, width: usize) -> usize {
    let wide = width as u64;
    let full = count.saturating_mul(wide) / most.max(1);
    let full = if count > 0 { full.max(1) } else { full };
    usize::try_from(full.min(wide)).unwrap_or(width)
}

fn gauge(text: &mut String, inspection: &Inspection, style: Style) {
    let window = &inspection.window;
    let per_mille = |load: f64| (load.max(0.0) * 1_000.0).round().min(1e6) as u64;
    let place = |load: f64| filled(per_mille(load), 1_000, GAUGE).saturating_sub(1);
    let full = filled(per_mille(window.load), 1_000, GAUGE);
    let mut cells: Vec<char> = (0..GAUGE).map(|at| if at < full { '█' } else { '·' }).collect();
    let mut marks = vec![' '; GAUGE + 6];
    for line in &window.lines {
        if let Some(cell) = cells.get_mut(place(*line)) {
            *cell = '|';
        }
        for (at, letter) in format!("{:.0}%", line * 100.0).chars().enumerate() {
            if let Some(cell) = marks.get_mut(place(*line) + at) {
                *cell = letter;
            }
        }
    }
    let (cells, marks): (String, String) = (cells.into_iter().collect(), marks.into_iter().collect());
    let load = style.bold(&format!("{:.1} %", window.load * 100.0));
    let _ = writeln!(text, "load  {cells} {load}\n      {}", marks.trim_end());
    let _ = writeln!(
        text,
        "window {} = {} usable + {} for the answer + {} for results",
        thousands(window.tokens),
        thousands(window.tokens.saturating_sub(window.output_reserve).saturating_sub(window.results_room)),
        thousands(window.output_reserve),
        thousands(window.results_room)
    );
}

fn cache(text: &mut String, inspection: &Inspection, recent: &ListResult, style: Style) {
    let read: u64 = inspection.layers.iter().map(|layer| layer.cache_read).sum();
    let all: u64 = inspection.layers.iter().map(|layer| layer.tokens).sum();
    let cost = inspection.cost.map(|cost| format!(", input about {}", dollars(cost))).unwrap_or_default();
    let _ = writeln!(text, "cache  {} of it expected to be read{cost}", share(read, all));
    if recent.requests.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{}", style.bold("last requests       tokens  cached: expected  reported"));
    for one in &recent.requests {
        let _ = writeln!(text, "{}", recent_line(one));
    }
    let total = &recent.total;
    let (cost, as_of) = match (total.cost, &total.price_as_of) {
        (Some(cost), Some(as_of)) => (dollars(cost), format!(" at prices of {as_of}")),
        _ => ("not known".to_owned(), String::new()),
    };
    let _ = writeln!(text, "session  {} requests, {} breaks, cost {cost}{as_of}", total.requests, total.breaks);
}

fn recent_line(one: &RequestInfo) -> String {
    let tokens = one.usage.map_or(one.tokens, |usage| usage.input);
    let reported = one.usage.map_or_else(|| "-".to_owned(), |usage| share(usage.cache_read, usage.input));
    let no = format!("{} (turn {}.{})", one.request, one.turn, one.step);
    format!("  {no:<16} {:>8}  {:>16}  {reported:>8}", thousands(tokens), share(one.cached_expected, tokens))
}

/// `1,234,567`.
pub fn thousands(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A part in per cent.
pub fn share(part: u64, all: u64) -> String {
    if all == 0 {
        return "-".to_owned();
    }
    format!("{:.1}%", part as f64 * 100.0 / all as f64)
}

/// US dollars, small ones with their first digits.
pub fn dollars(cost: f64) -> String {
    if cost >= 1.0 { format!("${cost:.2}") } else { format!("${cost:.4}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_protocol::context::Window;
    use plimsoll_protocol::event::Usage;
    use plimsoll_protocol::request::Total;

    fn part(origin: &str, name: Option<&str>, bytes: u64, items: &[(u64, u64)]) -> PartInfo {
        PartInfo {
            origin: origin.into(),
            name: name.map(str::to_owned),
            path: None,
            bytes,
            tokens: bytes / 4,
            items: items.iter().map(|(first, last)| ItemRange { first: *first, last: *last }).collect(),
        }
    }

    fn sample() -> (Inspection, ListResult) {
        let layer = |layer, name: &str, cache_read, parts: Vec<PartInfo>| LayerInfo {
            layer,
            name: name.into(),
            bytes: parts.iter().map(|part| part.bytes).sum(),
            tokens: parts.iter().map(|part| part.tokens).sum(),
            cache_read,
            cache_write: 0,
            parts,
        };
        let tools = (0..10).map(|no| part("tool", Some(&format!("tool_{no}")), 400 + no, &[])).collect();
        let inspection = Inspection {
            session: "s".into(),
            of: InspectedOf::Next,
            request: None,
            model: "test/m".into(),
            refused: None,
            opens: None,
            bytes: 12_345,
            tokens: 7_000,
            window: Window {
                tokens: 20_000,
                output_reserve: 4_000,
                results_room: 3_000,
                load: 7.0 / 13.0,
                lines: vec![0.65, 0.82, 0.95],
            },
            layers: vec![
                layer(1, "tool definitions", 1_000, tools),
                layer(
                    7,
                    "current turn",
                    0,
                    vec![
                        part("block", Some("git_status"), 80, &[(17, 17)]),
                        part("result", Some("c3"), 4_000, &[(18, 18), (20, 31)]),
                    ],
                ),
            ],
            shortened: None,
            since: None,
            cost: Some(0.0123),
            price_as_of: Some("2026-11-29".into()),
        };
        let request = RequestInfo {
            request: 4,
            turn: 2,
            step: 1,
            at: 0,
            epoch: 1,
            model: "m".into(),
            last_item: 9,
            bytes: 10_000,
            tokens: 2_500,
            usage: Some(Usage { input: 2_600, cache_read: 2_340, cache_write: 0, output: 10 }),
            cached_expected: 2_470,
            kept: None,
            broke: None,
            cost: None,
            error: None,
            damaged: None,
        };
        let total = Total {
            requests: 4,
            bytes: 30_000,
            usage: Usage::default(),
            cached_expected: 0,
            breaks: 0,
            side: None,
            cost: Some(1.5),
            price_as_of: Some("2026-11-29".into()),
        };
        (inspection, ListResult { requests: vec![request], side: Vec::new(), next_before: None, total })
    }

    #[test]
    fn an_inspection_is_a_stack_with_its_load_and_its_cache() {
        let (inspection_, recent) = sample();
        let text = inspection(&inspection_, &recent, Style::PLAIN);
        for line in [
            "the next request, for test/m",
            "7,000 tokens, 12,345 bytes, each with one origin below",
            "1 tool definitions      ███████████████████      1,008   5.0%  read+new",
            "  tool tool_9                                  102 tokens         409 B",
            "  and 2 more with 801 B; --json has all",
            "7 current turn          ████████████████████     1,020   5.1%  new",
            "  <git_status>                                  20 tokens          80 B  #17",
            "  result c3                                  1,000 tokens       4,000 B  #18…#31",
            "window 20,000 = 13,000 usable + 4,000 for the answer + 3,000 for results",
            "cache  49.3% of it expected to be read, input about $0.0123",
            "  4 (turn 2.1)        2,600             95.0%     90.0%",
            "session  4 requests, 0 breaks, cost $1.50 at prices of 2026-11-29",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert!(text.contains("65%       82%     95%"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn what_would_be_refused_says_so() {
        let (mut refused, recent) = sample();
        refused.refused = Some("The prompt was not sent: too large.".into());
        let text = inspection(&refused, &recent, Style::PLAIN);
        assert!(text.ends_with("\nNothing would be sent. The prompt was not sent: too large.\n"), "{text}");
    }

    #[test]
    fn numbers_are_readable() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!((share(1, 3), share(0, 0)), ("33.3%".to_owned(), "-".to_owned()));
        assert_eq!((dollars(0.00123), dollars(12.0)), ("$0.0012".to_owned(), "$12.00".to_owned()));
        assert_eq!((filled(1, 1_000, 20), filled(0, 0, 20), filled(5, 1, 20)), (1, 0, 20));
    }
}
