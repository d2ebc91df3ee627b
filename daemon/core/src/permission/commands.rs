//! Decides commands.

use super::ask::{self, question};
use super::command::{Parsed, Unparsed, parse};
use super::coverage::{By, Hit, Part, Terms, all, hits, judge};
use super::leave::{Files, Leave};
use super::policy::{Chosen, Decision, Mode, Policy, Rules, Sandbox, Shell, cited, leave};
use super::rule::{Commands, Matcher, Rule, Verdict};
use super::written::written;
use crate::tool::call::{Prepared, Target, Zone};

/// What a command that only looks may do.
const LOOKING: Leave = Leave { files: Files::Nothing, network: false };

/// Decides one command. The first target is the folder in which it runs; others are files that it names. `writes` are the
/// rules of the tools that change files.
pub fn decide(
    mode: Mode,
    policy: &Policy,
    rules: &Rules<'_>,
    writes: &Rules<'_>,
    prepared: &Prepared,
    (command, chosen): (&str, Chosen),
) -> Decision {
    let parsed = match policy.shell {
        Shell::Bash => parse(command),
        Shell::Other => Err(Unparsed("there is no bash here that it could be read for".to_owned())),
    };
    let deny = strongest(rules, Verdict::Deny, command, parsed.as_ref());
    let leave = leave(mode);
    if let Some((rule, Hit::Yes)) = deny {
        return Decision::Deny(format!("{} denies it", cited(rule)));
    }
    let folder = prepared.targets.first();
    if let (Ok(parsed), Some(folder)) = (&parsed, folder)
        && let Some((rule, path)) = written(parsed, folder, writes, Verdict::Deny)
    {
        return Decision::Deny(format!("it writes {path}, which {} denies", cited(rule)));
    }
    if let Some(target) = prepared.targets.iter().find(|target| target.zone == Zone::Protected)
        && mode != Mode::Full
    {
        return Decision::Deny(format!(
            "{} is protected (Plimsoll's own folders, the insides of .git, key files), and no command names it or works there in \
             mode `{mode}`",
            target.path
        ));
    }
    let records = |target: &&Target| matches!(target.zone, Zone::Readable | Zone::Plan);
    if let Some(target) = prepared.targets.iter().skip(1).find(records) {
        return Decision::Deny(format!("it writes {}, which belongs to Plimsoll's own records", target.path));
    }
    let inside = folder.is_some_and(|folder| matches!(folder.zone, Zone::Root(_)));
    let reaches_out = prepared.targets.iter().any(|target| matches!(target.zone, Zone::Outside | Zone::Protected));
    let allowed: Vec<Commands> = rules.with(Verdict::Allow).filter_map(|rule| rule.matcher.commands().ok()).collect();
    let held = policy.sandbox.files && inside && !reaches_out;
    if mode == Mode::Plan {
        let terms = Terms { allowed: &[], looking: inside && !reaches_out, writing: false };
        return plan(parsed.as_ref(), deny.is_some(), &terms);
    }
    let ask = strongest(rules, Verdict::Ask, command, parsed.as_ref());
    if let Some((rule, Hit::Yes)) = ask {
        return question(format!("{} asks about it", cited(rule)), &[], leave);
    }
    if let (Ok(parsed), Some(folder)) = (&parsed, folder)
        && let Some((rule, path)) = written(parsed, folder, writes, Verdict::Ask)
    {
        return question(format!("it writes {path}, and {} asks about that", cited(rule)), &[], leave);
    }
    let seen = allowed.iter().any(|rule| matches!(rule, Commands::Text(text) if text == command));
    if let Some((rule, Hit::Maybe)) = deny.or(ask)
        && !seen
    {
        let reason = format!("it cannot be seen whether {} is about it", cited(rule));
        return question(reason, &[Matcher::text(command)], leave);
    }
    if mode == Mode::Full {
        let protected = prepared.targets.iter().find(|target| target.zone == Zone::Protected);
        return match protected {
            Some(target) if !seen => {
                question(format!("{} is a protected place", target.path), &[Matcher::text(command)], leave)
            }
            _ => Decision::Allow(leave),
        };
    }
    if !inside {
        let place = folder.map_or("", |folder| folder.path.as_str());
        return question(format!("it acts outside the project, in {place}"), &[], leave);
    }
    let terms = Terms { allowed: &allowed, looking: held, writing: held && mode == Mode::AcceptEdits };
    // What a project that is not trusted brings along does not run unasked.
    let strange = chosen == Chosen::ByProject && !policy.trusted;
    let by_text = seen || allowed.contains(&Commands::All);
    let parts = parsed.as_ref().map(|parsed| judge(parsed, &terms));
    let by = if by_text { Some(By::Rule) } else { parts.as_ref().ok().and_then(|parts| all(parts)) };
    match by {
        Some(By::Looking) => Decision::Allow(LOOKING),
        Some(By::Writing) => Decision::Allow(Leave { files: Files::Roots, network: false }),
        Some(By::Rule) => Decision::Allow(Leave { files: Files::Roots, network: true }),
        None if mode == Mode::Auto && policy.sandbox == WHOLE && !strange => Decision::Allow(leave),
        None => open(mode, policy, (prepared, command), &parsed, (parts.ok().unwrap_or_default(), strange), &terms),
    }
}

/// A sandbox that holds everything.
const WHOLE: Sandbox = Sandbox { files: true, network: true };

/// Asks, with the rules that would cover the command.
fn open(
    mode: Mode,
    policy: &Policy,
    (prepared, command): (&Prepared, &str),
    parsed: &Result<Parsed, Unparsed>,
    (parts, strange): (Vec<Part>, bool),
    terms: &Terms<'_>,
) -> Decision {
    let outside = prepared.targets.iter().skip(1).find(|target| target.zone == Zone::Outside);
    let mut reason = match parsed {
        Ok(_) if outside.is_some() => {
            let place = outside.map_or("", |target| target.path.as_str());
            format!("it names {place}, which lies outside the project; {}", ask::reason(&parts))
        }
        Ok(_) => ask::reason(&parts),
        Err(error) => format!("what it does cannot be told: {error}"),
    };
    if strange {
        reason = format!("it runs this project's own code, and the project is not trusted; {reason}");
    }
    let mut asked = leave(mode);
    if mode == Mode::Auto {
        let missing = match (policy.sandbox.files, policy.sandbox.network) {
            (false, false) => "files and network are not restricted here",
            (false, true) => "files are not restricted here",
            (true, false) => "network is not restricted here",
            (true, true) => "",
        };
        if !missing.is_empty() {
            reason = format!("{missing}; {reason}");
        }
        asked.network = !policy.sandbox.network;
    }
    let rules = match parsed {
        Ok(parsed) => covering(ask::rules(command, &parts), command, parsed, terms),
        Err(_) => vec![Matcher::text(command)],
    };
    question(reason, &rules, asked)
}

/// These rules, when they cover the command together with those that there are; else the one for its exact text.
fn covering(rules: Vec<Matcher>, command: &str, parsed: &Parsed, terms: &Terms<'_>) -> Vec<Matcher> {
    let mut allowed = terms.allowed.to_vec();
    allowed.extend(rules.iter().filter_map(|rule| rule.commands().ok()));
    let terms = Terms { allowed: &allowed, ..terms.clone() };
    if all(&judge(parsed, &terms)).is_some() { rules } else { vec![Matcher::text(command)] }
}

fn plan(parsed: Result<&Parsed, &Unparsed>, doubted: bool, terms: &Terms<'_>) -> Decision {
    let clause = match parsed {
        Err(error) => error.to_string(),
        Ok(_) if doubted => "it cannot be seen whether a rule denies it".to_owned(),
        Ok(parsed) => {
            let parts = judge(parsed, terms);
            if all(&parts) == Some(By::Looking) {
                return Decision::Allow(LOOKING);
            }
            ask::reason(&parts)
        }
    };
    Decision::Deny(format!("in plan mode only commands run that are known to look and change nothing: {clause}"))
}

/// The rule of this verdict that is most clearly about the command.
fn strongest<'a>(
    rules: &Rules<'a>,
    verdict: Verdict,
    command: &str,
    parsed: Result<&Parsed, &Unparsed>,
) -> Option<(&'a Rule, Hit)> {
    let hit = |rule: &Rule| match (rule.matcher.commands(), parsed) {
        (Ok(Commands::All), _) => Hit::Yes,
        (Ok(Commands::Text(text)), _) if text == command => Hit::Yes,
        (Ok(Commands::Text(_)), _) => Hit::No,
        // A rule that cannot be read was refused when it was made; if one is here, it is not passed over.
        (Ok(Commands::Words { .. }), Err(_)) | (Err(_), _) => Hit::Maybe,
        (Ok(words @ Commands::Words { .. }), Ok(parsed)) => hits(&words, parsed),
    };
    let found = rules.with(verdict).map(|rule| (rule, hit(rule))).max_by_key(|(_, hit)| *hit);
    found.filter(|(_, hit)| *hit != Hit::No)
}
