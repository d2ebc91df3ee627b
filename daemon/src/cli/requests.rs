//! `plimsoll requests`: every request of a session, what of it was kept, cached and paid.

use super::args;
use super::connect::{self, CommandError};
use super::inspect::{self, dollars, share, thousands};
use super::out::{self, Style};
use super::reach::Spawn;
use crate::rpc::client::RpcClient;
use plimsoll_protocol::request::{ListResult, ProjectionInfo, RequestApiClient, RequestInfo, SideInfo, Total};
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::process::ExitCode;

/// Requests in one answer.
const PAGE: u32 = 500;

/// Runs the command.
pub fn main(arguments: &args::Requests) -> ExitCode {
    connect::with_client(Spawn::WhenNone, async |client, _| {
        let session = inspect::session(&client, arguments.session.as_deref(), arguments.project.as_deref()).await?;
        if arguments.projection {
            return projections(&client, session, arguments).await;
        }
        let Found { requests, side, total } = all(&client, &session, arguments.limit).await?;
        if arguments.json {
            for request in &requests {
                out::json(request)?;
            }
            for request in &side {
                out::json(request)?;
            }
        } else if requests.is_empty() {
            out::note("no request was sent yet; `plimsoll inspect` shows what the next one would be");
        } else {
            out::print(&table(&requests, &side, &total, Style::of_stdout()))?;
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// What is shown.
struct Found {
    requests: Vec<RequestInfo>,
    side: Vec<SideInfo>,
    total: Total,
}

/// The newest requests, oldest first.
async fn all(client: &RpcClient, session: &str, limit: u32) -> Result<Found, CommandError> {
    let mut side = Vec::new();
    let mut found: VecDeque<RequestInfo> = VecDeque::new();
    let mut before = None;
    loop {
        let left = limit.saturating_sub(u32::try_from(found.len()).unwrap_or(u32::MAX));
        let page: ListResult =
            RequestApiClient::list(client, session.to_owned(), before, Some(left.clamp(1, PAGE))).await?;
        side.extend(page.side);
        for request in page.requests.into_iter().rev() {
            found.push_front(request);
        }
        before = page.next_before;
        if before.is_none() || found.len() >= limit as usize {
            return Ok(Found { requests: found.into(), side, total: page.total });
        }
    }
}

async fn projections(
    client: &RpcClient,
    session: String,
    arguments: &args::Requests,
) -> Result<ExitCode, CommandError> {
    let found = client.projections(session, Some(arguments.all)).await?.projections;
    if arguments.json {
        for one in &found {
            out::json(one)?;
        }
    } else if found.is_empty() {
        out::note("no tool has given a result yet");
    } else {
        out::print(&projection_table(&found, Style::of_stdout()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn projection_table(found: &[ProjectionInfo], style: Style) -> String {
    let head = "tool             results  short  more  again   tokens     saved    reread  twice";
    let mut text = String::new();
    let mut model = None;
    for one in found {
        if model.replace(&one.model) != Some(&one.model) {
            let _ = writeln!(text, "{}\n{}", out::short(&one.model, 80), style.bold(head));
        }
        let _ = writeln!(
            text,
            "{:<15} {:>8} {:>6} {:>5} {:>6} {:>8} {:>9} {:>9} {:>6}",
            out::short(&one.tool, 15),
            thousands(one.results),
            thousands(one.partial),
            thousands(one.continued),
            thousands(one.continuations),
            thousands(one.tokens),
            thousands(one.saved),
            thousands(one.reread),
            thousands(one.repeated)
        );
    }
    text.push_str(
        "short: something left out; more: of these, asked for again; again: such calls;\n\
         saved: tokens left out; reread: of such calls; twice: of these, shown before\n",
    );
    text
}

fn table(requests: &[RequestInfo], side: &[SideInfo], total: &Total, style: Style) -> String {
    let head = "  no  turn      tokens       bytes    kept  expected  reported       cost";
    let mut text = format!("{}\n", style.bold(head));
    for one in requests {
        let tokens = one.usage.map_or(one.tokens, |usage| usage.input);
        let kept = one.kept.as_ref().map_or_else(|| "-".to_owned(), |kept| share(kept.tokens, kept.of_tokens));
        let reported = one.usage.map_or_else(|| "-".to_owned(), |usage| thousands(usage.cache_read));
        let cost = one.cost.map_or_else(|| "-".to_owned(), dollars);
        let place = format!("{}.{}", one.turn, one.step);
        let _ = writeln!(
            text,
            "{:>4}  {place:<6} {:>9} {:>11}  {kept:>6} {:>9} {reported:>9}  {cost:>9}",
            one.request,
            thousands(tokens),
            thousands(one.bytes),
            thousands(one.cached_expected)
        );
        if let Some(broke) = &one.broke {
            let line = format!(
                "      broke at {} (layer {}): {}; {} tokens not kept",
                out::short(&broke.name, 24),
                broke.layer,
                out::short(&broke.cause, 20),
                thousands(broke.lost_tokens)
            );
            let _ = writeln!(text, "{}", style.removed(&line));
        }
        if let Some(damaged) = &one.damaged {
            let _ = writeln!(text, "{}", style.removed(&format!("      damaged: {}", out::short(damaged, 64))));
        }
        if let Some(error) = &one.error {
            let _ = writeln!(text, "{}", style.removed(&format!("      failed: {}", out::short(error, 64))));
        }
    }
    beside(&mut text, side, style);
    let Total { requests, bytes, usage, cached_expected, breaks, side, cost, price_as_of } = total;
    let _ = writeln!(
        text,
        "{requests} requests, {} bytes, {} tokens in, {} out, {breaks} breaks",
        thousands(*bytes),
        thousands(usage.input),
        thousands(usage.output)
    );
    let _ = writeln!(
        text,
        "cached: {} expected, {} reported ({} of the input)",
        thousands(*cached_expected),
        thousands(usage.cache_read),
        share(usage.cache_read, usage.input)
    );
    if let (Some(cost), Some(as_of)) = (cost, price_as_of) {
        let _ = writeln!(text, "cost {} at prices of {as_of}", dollars(*cost));
    }
    if let Some(side) = side {
        let cost = side.cost.map(|cost| format!(", cost {}", dollars(cost))).unwrap_or_default();
        let _ = writeln!(
            text,
            "beside: {} requests, {} bytes, {} tokens in, {} out{cost}",
            side.requests,
            thousands(side.bytes),
            thousands(side.usage.input),
            thousands(side.usage.output)
        );
    }
    text
}

/// Requests beside the conversation, with numbers of their own.
fn beside(text: &mut String, side: &[SideInfo], style: Style) {
    for one in side {
        let tokens = one.usage.map_or(one.tokens, |usage| usage.input);
        let base = one.base.map_or_else(|| "alone".to_owned(), |base| format!("from {base}"));
        let reported = one.usage.map_or_else(|| "-".to_owned(), |usage| thousands(usage.cache_read));
        let cost = one.cost.map_or_else(|| "-".to_owned(), dollars);
        let _ = writeln!(
            text,
            "s{:<4} {:<7} {:>8} {:>11}  {base:<16} {reported:>9}  {cost:>9}",
            one.side,
            out::short(&one.purpose, 7),
            thousands(tokens),
            thousands(one.bytes)
        );
        if let Some(error) = &one.error {
            let _ = writeln!(text, "{}", style.removed(&format!("      not used: {}", out::short(error, 64))));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_protocol::event::Usage;
    use plimsoll_protocol::request::{Break, Kept, SideTotal};

    #[test]
    fn projections_are_told_by_model_and_tool() {
        let one = |tool: &str| ProjectionInfo {
            model: "local/qwen".into(),
            tool: tool.into(),
            results: 12,
            partial: 5,
            continued: 2,
            tokens: 9_000,
            saved: 31_000,
            continuations: 3,
            with_new: 3,
            reread: 2_400,
            repeated: 0,
        };
        let text = projection_table(&[one("grep"), one("read_file")], Style::PLAIN);
        assert!(text.starts_with("local/qwen\ntool  "), "{text}");
        assert!(
            text.contains("\nread_file             12      5     2      3    9,000    31,000     2,400      0\n"),
            "{text}"
        );
        assert_eq!(text.matches("local/qwen").count(), 1);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn the_table_shows_what_was_kept_and_where_it_broke() {
        let first = RequestInfo {
            request: 1,
            turn: 1,
            step: 1,
            at: 0,
            epoch: 1,
            model: "m".into(),
            last_item: 2,
            bytes: 20_000,
            tokens: 5_000,
            usage: None,
            cached_expected: 0,
            kept: None,
            broke: None,
            cost: None,
            error: Some("it broke".into()),
            damaged: Some("message 2 of request 1 is missing".into()),
        };
        let second = RequestInfo {
            request: 2,
            step: 2,
            usage: Some(Usage { input: 6_000, cache_read: 4_321, cache_write: 0, output: 9 }),
            cached_expected: 4_400,
            kept: Some(Kept { segments: 3, bytes: 100, tokens: 4_000, of_tokens: 5_000 }),
            broke: Some(Break {
                layer: 3,
                name: "dynamic system text".into(),
                cause: "modelChanged".into(),
                lost_tokens: 1_000,
            }),
            cost: Some(0.5),
            error: None,
            damaged: None,
            ..first.clone()
        };
        let total = Total {
            requests: 2,
            bytes: 40_000,
            usage: Usage { input: 6_000, cache_read: 4_321, cache_write: 0, output: 9 },
            cached_expected: 4_400,
            breaks: 1,
            side: Some(SideTotal {
                requests: 1,
                bytes: 22_000,
                usage: Usage { input: 5_500, cache_read: 5_000, cache_write: 0, output: 700 },
                cost: None,
            }),
            cost: Some(0.5),
            price_as_of: Some("2026-11-29".into()),
        };
        let expected = "  no  turn      tokens       bytes    kept  expected  reported       cost
   1  1.1        5,000      20,000       -         0         -          -
      damaged: message 2 of request 1 is missing
      failed: it broke
   2  1.2        6,000      20,000   80.0%     4,400     4,321    $0.5000
      broke at dynamic system text (layer 3): modelChanged; 1,000 tokens not kept
s1    summary    5,500      22,000  from 2               5,000          -
      not used: section 4 is missing
2 requests, 40,000 bytes, 6,000 tokens in, 9 out, 1 breaks
cached: 4,400 expected, 4,321 reported (72.0% of the input)
cost $0.5000 at prices of 2026-11-29
beside: 1 requests, 22,000 bytes, 5,500 tokens in, 700 out
";
        let side = SideInfo {
            side: 1,
            purpose: "summary".into(),
            at: 0,
            epoch: 1,
            last_item: 9,
            base: Some(2),
            model: "m".into(),
            bytes: 22_000,
            tokens: 5_000,
            usage: Some(Usage { input: 5_500, cache_read: 5_000, cache_write: 0, output: 700 }),
            cost: None,
            error: Some("section 4 is missing".into()),
        };
        assert_eq!(table(&[first, second], &[side], &total, Style::PLAIN), expected);
    }
}
