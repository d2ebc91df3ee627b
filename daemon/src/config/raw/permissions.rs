//! `[permissions]` of a configuration file: mode, rules, folders that commands may write. Who may say which of them is for
//! `resolve`.

use super::super::PermissionMode;
use super::super::error::{ConfigError, Place};
use super::Located;
use super::table::Table;
use plimsoll_core::permission::rule::{Matcher, Verdict};

/// Rules that one file may hold: more are no list that somebody keeps in mind.
const RULES_MAX: usize = 1_000;
/// Longest rule, in bytes: a command that somebody writes down.
const RULE_MAX: usize = 4_096;

/// What the table says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RawPermissions {
    /// `mode`.
    pub mode: Option<Located<PermissionMode>>,
    /// `max_mode`.
    pub max_mode: Option<Located<PermissionMode>>,
    /// `allow`, `ask` and `deny`, in this order.
    pub rules: Vec<Located<(Verdict, Matcher)>>,
    /// Entries of these lists that are no rules. Whose file it is decides whether they are errors or warnings.
    pub bad_rules: Vec<ConfigError>,
    /// `writable`: folders, absolute or below `~/`.
    pub writable: Vec<Located<String>>,
}

impl RawPermissions {
    pub(super) fn parse(mut table: Table<'_, '_>) -> Result<Self, ConfigError> {
        let mut raw = Self {
            mode: table.parsed("mode", str::parse::<PermissionMode>)?,
            max_mode: table.parsed("max_mode", str::parse::<PermissionMode>)?,
            ..Self::default()
        };
        for (key, verdict) in [("allow", Verdict::Allow), ("ask", Verdict::Ask), ("deny", Verdict::Deny)] {
            for Located { value, place } in table.texts(key)? {
                if raw.rules.len() + raw.bad_rules.len() >= RULES_MAX {
                    return Err(ConfigError {
                        place,
                        problem: format!("there are more than {RULES_MAX} rules"),
                        fix: "Let fewer, wider ones say the same".to_owned(),
                    });
                }
                match rule(&value, &place) {
                    Ok(matcher) => raw.rules.push(Located { value: (verdict, matcher), place }),
                    Err(error) => raw.bad_rules.push(error),
                }
            }
        }
        raw.writable = table.texts("writable")?;
        for Located { value, place } in &raw.writable {
            let below_home = value.strip_prefix("~/").is_some_and(|rest| !rest.trim_matches('/').is_empty());
            if !below_home && !value.starts_with('/') {
                return Err(ConfigError {
                    place: place.clone(),
                    problem: format!("`{}` is neither absolute nor a folder below ~/", shown(value)),
                    fix: "Write a folder such as \"~/.cache/pip\"".to_owned(),
                });
            }
        }
        table.finish();
        Ok(raw)
    }
}

/// A rule in its text form, which somebody wrote at `place`.
pub fn rule(text: &str, place: &Place) -> Result<Matcher, ConfigError> {
    let fix = "Write `<tool>` or `<tool>(<pattern>)`, such as \"run_terminal_cmd(cargo test *)\" or \"read_file(/usr/include/**)\"";
    let bad = |problem: String| ConfigError { place: place.clone(), problem, fix: fix.to_owned() };
    if text.len() > RULE_MAX {
        return Err(bad(format!("a rule is longer than {RULE_MAX} bytes")));
    }
    text.parse::<Matcher>().map_err(|error| bad(format!("`{}` is not a rule: {}", shown(text), error.problem)))
}

fn shown(text: &str) -> String {
    text.chars().take(80).collect()
}
