//! What projections saved and what of it was read again, per model and tool: counted from what is stored anyway, so
//! that budgets can be set from data.
//!
//! A continuation is a call that asks for what an earlier result of its session left out: by that result's cursor, by a
//! range of a file that was shown in part, or by a range of the log or text that the result names.

use super::StoreError;
use super::read::{Reader, number};
use plimsoll_core::id::CallId;
use plimsoll_core::tool::name;
use plimsoll_core::tool::projection::Shown;
use plimsoll_core::tool::projection::cursor;
use plimsoll_core::transcript::codec;
use plimsoll_core::transcript::item::ItemBody;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The figures of one model and one tool. Tokens are estimates.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectionStats {
    /// The model that was sent the results, `provider/model`.
    pub model: String,
    /// The tool; of a tool that does not exist, the name that the model gave.
    pub tool: String,
    /// Results that were no continuation.
    pub projections: u64,
    /// Those of them that left something out.
    pub partial: u64,
    /// Partial ones of which a later call of the session asked for more.
    pub continued: u64,
    /// Tokens that these results cost in the view.
    pub tokens: u64,
    /// Tokens that they left out.
    pub saved: u64,
    /// Calls that asked for more of a result of this tool, whatever tool they used themselves.
    pub continuations: u64,
    /// Those of them that brought lines or entries which had not been shown.
    pub with_new: u64,
    /// Tokens that they cost in the view.
    pub reread: u64,
    /// Tokens of these for lines that had been shown before, of the same version.
    pub repeated: u64,
}

/// One result as far as it is counted.
struct Looked {
    call: CallId,
    model: String,
    tool: String,
    arguments: Value,
    tokens: u64,
    whole: u64,
    partial: bool,
    shown: Vec<Shown>,
}

impl Reader<'_> {
    /// Adds up the results of these sessions, by model and tool.
    pub(super) fn projection_stats(
        &self,
        sessions: impl IntoIterator<Item = i64>,
    ) -> Result<Vec<ProjectionStats>, StoreError> {
        let mut all = BTreeMap::new();
        for sid in sessions {
            count(self.looked(sid)?, &mut all);
        }
        Ok(all.into_values().collect())
    }

    /// The results of a session in the order of their calls.
    fn looked(&self, sid: i64) -> Result<Vec<Looked>, StoreError> {
        let sql = "SELECT p.call, p.tokens, p.whole, p.partial, p.shown, i.kind, i.version, i.codec, i.len, i.body, \
                   (SELECT json_extract(e.body, '$.model') FROM request r JOIN epoch e ON e.sid = r.sid AND e.no = r.epoch \
                    WHERE r.sid = i.sid AND r.turn = i.turn AND r.step = i.step) \
                   FROM projection p JOIN item i ON i.sid = p.sid AND i.call = p.call AND i.kind = 'tool_call' \
                   WHERE p.sid = ?1 ORDER BY p.call";
        let found = self.rows(sql, [sid], |row| {
            let call = CallId(number(row, 0)?);
            let (tokens, whole, partial) = (number(row, 1)?, number(row, 2)?, row.get(3)?);
            // What cannot be read counts as not shown.
            let shown = serde_json::from_str(row.get_ref(4)?.as_str()?).unwrap_or_default();
            let (kind, version): (String, u8) = (row.get(5)?, row.get(6)?);
            let model = row.get::<_, Option<String>>(10)?.unwrap_or_default();
            Ok(self.text(row, 7)?.map(|json| {
                let Ok(ItemBody::ToolCall(made)) = codec::decode(&kind, version, &json) else { return None };
                let tool = name::normalise(&made.tool).map_or(made.tool, |spec| spec.name.to_owned());
                let arguments = serde_json::from_str(&made.arguments).unwrap_or_default();
                Some(Looked { call, model, tool, arguments, tokens, whole, partial, shown })
            }))
        })?;
        Ok(found.into_iter().flatten().collect())
    }
}

/// What is known of a session's earlier results while they are gone through.
#[derive(Default)]
struct Known {
    /// Whose figures a call belongs to.
    of: BTreeMap<CallId, (String, String)>,
    continued: BTreeSet<CallId>,
    /// The last result that showed a part of a file, by the file's canonical path and by the path that a call named.
    partly: BTreeMap<String, CallId>,
    /// Canonical paths by the path that a call named.
    canonical: BTreeMap<String, String>,
    /// Lines that were shown, by path and version.
    lines: BTreeMap<(String, String), BTreeSet<u64>>,
    /// Ranges and pages that were asked for.
    asked: BTreeSet<String>,
}

fn count(results: Vec<Looked>, all: &mut BTreeMap<(String, String), ProjectionStats>) {
    let mut known = Known::default();
    for result in results {
        let first = known.continues(&result);
        let key = match first {
            Some(of) => known.of.get(&of).cloned().unwrap_or_default(),
            None => (result.model.clone(), result.tool.clone()),
        };
        let stats = all.entry(key.clone()).or_insert_with(|| ProjectionStats {
            model: key.0.clone(),
            tool: key.1.clone(),
            ..ProjectionStats::default()
        });
        let (new, repeated) = known.look(&result);
        if let Some(of) = first {
            stats.continuations += 1;
            stats.with_new += u64::from(new);
            stats.reread += result.tokens;
            stats.repeated += repeated;
            stats.continued += u64::from(known.continued.insert(of));
            // What it leaves out itself was left out by the first one, and is continued as a part of that.
            known.remember(&result, of);
        } else {
            stats.projections += 1;
            stats.tokens += result.tokens;
            if result.partial {
                stats.partial += 1;
                stats.saved += result.whole.saturating_sub(result.tokens);
                known.remember(&result, result.call);
            }
            known.of.insert(result.call, key);
        }
    }
}

impl Known {
    /// The call whose result this one goes on with.
    fn continues(&self, result: &Looked) -> Option<CallId> {
        if let Some(Ok(at)) = cursor::of_args(&result.arguments) {
            return Some(at.call).filter(|of| self.of.contains_key(of));
        }
        let ranged = ["offset", "limit", "byte_offset", "byte_limit"];
        if result.tool != "read_file" || !ranged.iter().any(|field| result.arguments.get(field).is_some()) {
            return None;
        }
        let named = result.arguments.get("target_file").and_then(Value::as_str)?;
        let path = result.shown.first().map(|shown| &shown.path).or_else(|| self.canonical.get(named));
        let earlier = path.and_then(|path| self.partly.get(path)).or_else(|| self.partly.get(named)).copied();
        earlier.or_else(|| artifact_of(named).filter(|of| self.of.contains_key(of)))
    }

    /// Takes in what a result shows: whether any of it is new, and the tokens of what is not.
    fn look(&mut self, result: &Looked) -> (bool, u64) {
        let (mut lines, mut fresh) = (0_u64, 0_u64);
        // What an edit knows of a file it has not shown.
        for shown in result.shown.iter().filter(|_| result.tool == "read_file") {
            let seen = self.lines.entry((shown.path.clone(), shown.version.clone())).or_default();
            for (first, count) in &shown.lines {
                for line in *first..first.saturating_add(*count) {
                    lines += 1;
                    fresh += u64::from(seen.insert(line));
                }
            }
        }
        if lines == 0 {
            // Bytes and pages have no lines: asked for once, they are new.
            let new = self.asked.insert(format!("{} {}", result.tool, result.arguments));
            return (new, if new { 0 } else { result.tokens });
        }
        (fresh > 0, result.tokens * (lines - fresh) / lines)
    }

    fn remember(&mut self, result: &Looked, first: CallId) {
        let Some(named) = result.arguments.get("target_file").and_then(Value::as_str) else { return };
        if let Some(shown) = result.shown.first() {
            self.canonical.insert(named.to_owned(), shown.path.clone());
            self.partly.insert(shown.path.clone(), first);
        }
        self.partly.insert(named.to_owned(), first);
    }
}

/// The call whose log or saved text this is: `…/artifacts/c7.log`.
fn artifact_of(path: &str) -> Option<CallId> {
    let (folder, file) = path.rsplit_once('/')?;
    let (call, kind) = file.split_once('.')?;
    (folder.ends_with("/artifacts") && matches!(kind, "log" | "txt")).then(|| call.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn look(call: u64, tool: &str, arguments: Value, tokens: u64, whole: u64, lines: &[(u64, u64)]) -> Looked {
        let shown = Shown { path: "/w/a.rs".into(), version: "v1".into(), lines: lines.to_vec(), ..Shown::default() };
        Looked {
            call: CallId(call),
            model: "m".into(),
            tool: tool.into(),
            arguments,
            tokens,
            whole,
            partial: whole > tokens,
            shown: if lines.is_empty() { Vec::new() } else { vec![shown] },
        }
    }

    fn check(results: Vec<Looked>, expected: &[ProjectionStats]) {
        let mut all = BTreeMap::new();
        count(results, &mut all);
        assert_eq!(all.into_values().collect::<Vec<_>>(), expected);
    }

    fn stats(tool: &str) -> ProjectionStats {
        ProjectionStats { model: "m".into(), tool: tool.into(), ..ProjectionStats::default() }
    }

    #[test]
    fn ranges_of_a_file_that_was_shown_in_part_continue_its_first_look() {
        let range = |offset: u64| json!({"target_file": "a.rs", "offset": offset, "limit": 50});
        check(
            vec![
                look(1, "read_file", json!({"target_file": "a.rs"}), 2_000, 9_000, &[(1, 100), (900, 50)]),
                look(2, "read_file", range(101), 500, 500, &[(101, 50)]),
                look(3, "read_file", range(101), 500, 500, &[(101, 50)]),
                look(4, "read_file", range(126), 500, 500, &[(126, 50)]),
                // Another file, by a range of its own.
                look(5, "read_file", json!({"target_file": "b.rs", "offset": 3}), 10, 10, &[]),
            ],
            &[ProjectionStats {
                projections: 2,
                partial: 1,
                continued: 1,
                tokens: 2_010,
                saved: 7_000,
                continuations: 3,
                with_new: 2,
                reread: 1_500,
                repeated: 750,
                ..stats("read_file")
            }],
        );
    }

    #[test]
    fn pages_and_logs_belong_to_the_call_that_was_continued() {
        check(
            vec![
                look(1, "grep", json!({"pattern": "x"}), 100, 300, &[]),
                look(2, "grep", json!({"pattern": "x", "cursor": "c1:9"}), 90, 90, &[]),
                look(3, "grep", json!({"pattern": "x", "cursor": "c1:9"}), 90, 90, &[]),
                look(4, "grep", json!({"pattern": "x", "cursor": "c8:9"}), 5, 5, &[]),
                look(5, "run_terminal_cmd", json!({"command": "make"}), 50, 80, &[]),
                look(6, "read_file", json!({"target_file": "/d/s/artifacts/c5.log", "offset": 2}), 30, 30, &[]),
            ],
            &[
                ProjectionStats {
                    projections: 2,
                    partial: 1,
                    continued: 1,
                    tokens: 105,
                    saved: 200,
                    continuations: 2,
                    with_new: 1,
                    reread: 180,
                    repeated: 90,
                    ..stats("grep")
                },
                ProjectionStats {
                    projections: 1,
                    partial: 1,
                    continued: 1,
                    tokens: 50,
                    saved: 30,
                    continuations: 1,
                    with_new: 1,
                    reread: 30,
                    ..stats("run_terminal_cmd")
                },
            ],
        );
    }
}
