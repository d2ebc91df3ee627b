//! Decides calls of tools that touch files, and of those that touch nothing.

use super::ask::question;
use super::policy::{Decision, Mode, Rules, cited, leave};
use super::rule::{Matcher, Rule, Verdict};
use crate::tool::call::{Prepared, Target, Zone};
use crate::tool::spec::{self, Class, Spec};

/// Whether a rule is about a tool that changes files.
pub fn writes(rule: &Rule) -> bool {
    spec::find(&rule.matcher.tool).is_some_and(|spec| spec.class == Class::Write)
}

/// Decides one call.
pub fn decide(mode: Mode, rules: &Rules<'_>, spec: &Spec, prepared: &Prepared) -> Decision {
    let targets = &prepared.targets;
    let said = |verdict: Verdict| rules.with(verdict).find(|rule| is_about(rule, spec, targets));
    if let Some(rule) = said(Verdict::Deny) {
        return Decision::Deny(format!("{} denies it", cited(rule)));
    }
    let writes = spec.class == Class::Write;
    if let Some(target) = targets.iter().find(|target| writes && target.zone == Zone::Readable) {
        return Decision::Deny(format!("{} belongs to Plimsoll's own records, which no tool changes", target.path));
    }
    let plan = targets.iter().find(|target| writes && target.zone == Zone::Plan);
    if let (Some(plan), true) = (plan, mode != Mode::Plan) {
        return Decision::Deny(format!("{} is the session's plan, which is written in plan mode only", plan.path));
    }
    let leave = leave(mode);
    let allow = Decision::Allow(leave);
    if let Some(target) = targets.iter().find(|target| target.zone == Zone::Protected) {
        if mode != Mode::Full {
            return Decision::Deny(format!(
                "{} is protected (Plimsoll's own folders, the insides of .git, key files) and is not opened in mode `{mode}`",
                target.path
            ));
        }
        if !covered(rules, spec, targets, |target| target.zone == Zone::Protected) {
            let open = exact(spec, targets.iter().filter(|target| target.zone == Zone::Protected));
            return question(format!("{} is a protected place", target.path), &open, leave);
        }
    }
    // What is kept for later sessions changes no file of the project, and is a change all the same.
    let keeps = spec.name == spec::MEMORY;
    let only_plan = plan.is_some() && targets.iter().all(|target| target.zone == Zone::Plan);
    let changes = keeps || matches!(spec.class, Class::Write | Class::Execute);
    if mode == Mode::Plan && changes && !only_plan {
        return Decision::Deny("in plan mode nothing is changed but the plan file".to_owned());
    }
    if let Some(rule) = said(Verdict::Ask) {
        return question(format!("{} asks about it", cited(rule)), &[], leave);
    }
    let free = match (mode, spec.class) {
        (Mode::Full, _) => return allow,
        (Mode::Ask, Class::Interact) if keeps => false,
        (Mode::Plan, Class::Write) if only_plan => return allow,
        (_, Class::Read | Class::Interact) | (Mode::AcceptEdits | Mode::Auto, Class::Write) => true,
        (Mode::Plan | Mode::Ask, Class::Write) | (_, Class::Execute | Class::Network) => false,
    };
    let needs = |target: &Target| !free || target.zone == Zone::Outside;
    let any = if targets.is_empty() { !free } else { targets.iter().any(needs) };
    if !any || covered(rules, spec, targets, needs) {
        return allow;
    }
    let outside = targets.iter().find(|target| target.zone == Zone::Outside);
    let reason = match (outside, spec.class) {
        (Some(target), Class::Read) => format!("{} lies outside the project", target.path),
        (Some(target), _) => format!("it acts outside the project, in {}", target.path),
        (None, Class::Write) => "it changes files".to_owned(),
        (None, Class::Network) => "it uses the network".to_owned(),
        (None, Class::Interact) if keeps => "it changes what later sessions are told".to_owned(),
        (None, Class::Read | Class::Execute | Class::Interact) => "it needs an answer".to_owned(),
    };
    if keeps {
        let every_call = Matcher { tool: spec.name.to_owned(), pattern: None };
        return question(reason, &[every_call], leave);
    }
    let open = exact(spec, targets.iter().filter(|target| needs(target) && !allowed(rules, spec, target)));
    question(reason, &open, leave)
}

/// A rule without a pattern is also about a call without targets.
fn is_about(rule: &Rule, spec: &Spec, targets: &[Target]) -> bool {
    rule.matcher.pattern.is_none() || targets.iter().any(|target| rule.matcher.is_about(spec.name, target))
}

/// Whether rules allow all targets that need it.
fn covered(rules: &Rules<'_>, spec: &Spec, targets: &[Target], needs: impl Fn(&Target) -> bool) -> bool {
    if targets.is_empty() {
        return rules.with(Verdict::Allow).any(|rule| rule.matcher.pattern.is_none());
    }
    targets.iter().filter(|target| needs(target)).all(|target| allowed(rules, spec, target))
}

/// Whether a rule allows the tool on this target. A rule for all of a tool's calls is about the project; other places are
/// named.
fn allowed(rules: &Rules<'_>, spec: &Spec, target: &Target) -> bool {
    let inside = matches!(target.zone, Zone::Root(_) | Zone::Readable | Zone::Plan);
    let named = |rule: &Rule| inside || rule.matcher.pattern.is_some();
    rules.with(Verdict::Allow).any(|rule| named(rule) && rule.matcher.is_about(spec.name, target))
}

fn exact<'a>(spec: &Spec, targets: impl Iterator<Item = &'a Target>) -> Vec<Matcher> {
    let mut rules: Vec<Matcher> = Vec::new();
    for target in targets {
        let rule = Matcher::path(spec.name, target);
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    rules
}
