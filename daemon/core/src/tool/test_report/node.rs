//! `node --test`: the reporters `tap` and `spec`; and TAP of others.

use super::{TestReport, excerpt, number};

/// See [`super::read`].
pub(super) fn read(text: &str) -> Option<TestReport> {
    let totals = totals(text);
    if text.lines().any(|line| line.starts_with("TAP version ")) {
        return Some(tap(text, totals));
    }
    Some(spec(text, totals?))
}

/// The numbers at the end of either reporter; none when they are not there.
fn totals(text: &str) -> Option<[u64; 3]> {
    let of = |word: &str| {
        text.lines().rev().find_map(|line| {
            let rest = line.strip_prefix("# ").or_else(|| line.strip_prefix("\u{2139} "))?;
            rest.strip_prefix(word)?.strip_prefix(' ')?.parse::<u64>().ok()
        })
    };
    of("tests")?;
    let failed = of("fail")?.saturating_add(of("cancelled").unwrap_or_default());
    let skipped = of("skipped").unwrap_or_default().saturating_add(of("todo").unwrap_or_default());
    Some([of("pass")?, failed, skipped])
}

fn tap(text: &str, totals: Option<[u64; 3]>) -> TestReport {
    let mut report = TestReport::of("tap");
    let mut own = [0_u64; 3];
    let mut planned = None;
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let inner = line.trim_start();
        let indent = line.len() - inner.len();
        if indent == 0
            && let Some(plan) = line.strip_prefix("1..").and_then(number)
        {
            planned = Some(plan.0);
        }
        let Some((ok, name, directive)) = point(inner) else { continue };
        let mut block = Vec::new();
        if lines.next_if(|next| next.trim() == "---").is_some() {
            while let Some(next) = lines.next_if(|next| next.trim() != "...") {
                block.push(next);
            }
        }
        let aside = directive.starts_with("SKIP") || directive.starts_with("TODO");
        if indent == 0 {
            let slot = if aside { 2 } else { usize::from(!ok) };
            if let Some(count) = own.get_mut(slot) {
                *count += 1;
            }
        }
        // A suite fails with what is in it, which is named itself.
        let of_parts = field(&block, "failureType").is_some_and(|value| value.contains("subtestsFailed"));
        if !ok && !aside && !of_parts {
            report.fails(name, field(&block, "error").unwrap_or_default());
        }
    }
    [report.passed, report.failed, report.skipped] = match (totals, planned) {
        (Some(totals), _) => totals,
        (None, Some(planned)) => {
            report.cut = planned > own.iter().sum();
            own
        }
        (None, None) => {
            report.cut = true;
            own
        }
    };
    report.counted()
}

/// `not ok 2 - name # SKIP why`: whether it is ok, the name, the directive.
fn point(line: &str) -> Option<(bool, &str, &str)> {
    let (ok, rest) = match line.strip_prefix("not ok") {
        Some(rest) => (false, rest),
        None => (true, line.strip_prefix("ok")?),
    };
    let rest = rest.strip_prefix(' ')?.trim_start();
    let rest = number(rest).map_or(rest, |(_, rest)| rest.trim_start());
    let rest = rest.strip_prefix("- ").unwrap_or(rest);
    let (name, directive) = rest.rsplit_once(" # ").unwrap_or((rest, ""));
    let directive = if directive.starts_with("SKIP") || directive.starts_with("TODO") { directive } else { "" };
    Some((ok, if directive.is_empty() { rest } else { name }, directive))
}

/// A value of the block below a point: on its line, or the deeper lines after `|-`.
fn field(block: &[&str], key: &str) -> Option<String> {
    let at =
        block.iter().position(|line| line.trim_start().strip_prefix(key).is_some_and(|rest| rest.starts_with(':')))?;
    let line = block.get(at)?;
    let indent = line.len() - line.trim_start().len();
    let value = line.trim_start().get(key.len() + 1..)?.trim();
    if !value.starts_with(['|', '>']) {
        let bare = value.strip_prefix('\'').and_then(|value| value.strip_suffix('\''));
        return Some(excerpt([bare.unwrap_or(value)]));
    }
    let deeper = |line: &&&str| line.trim().is_empty() || line.len() - line.trim_start().len() > indent;
    Some(excerpt(block.iter().skip(at + 1).take_while(deeper).copied()))
}

fn spec(text: &str, totals: [u64; 3]) -> TestReport {
    let mut report = TestReport::of("node");
    [report.passed, report.failed, report.skipped] = totals;
    let mut lines = text.lines().skip_while(|line| *line != "\u{2716} failing tests:").skip(1).peekable();
    while let Some(line) = lines.next() {
        let Some(rest) = line.strip_prefix("\u{2716} ") else { continue };
        let name = rest.rsplit_once(" (").map_or(rest, |(name, _)| name);
        let mut block = Vec::new();
        while let Some(next) = lines.next_if(|next| next.starts_with(' ')) {
            block.push(next);
        }
        let said = block.into_iter().take_while(|line| !line.trim_start().starts_with("at "));
        report.fails(name, excerpt(said));
    }
    report.counted()
}
