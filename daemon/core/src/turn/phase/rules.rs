//! Rules that are not always in force: told when a file that they are about is first touched, and given when the model asks.

use super::super::effect::Effect;
use super::super::machine::Machine;
use super::super::state::{Phase, SlotState, Surroundings};
use crate::context::head::instructions_budget;
use crate::context::rules;
use crate::id::CallId;
use crate::tool::call::{Call, Prepared, Zone};
use crate::tool::name::distance;
use crate::tool::outcome::{Body, Outcome, Status};
use crate::transcript::item::MetaCause;
use crate::workspace::{Environment, Rule, Wanted};
use std::fmt::Write as _;

/// Files that a rule links to and that its text names, at most.
const LINKS: usize = 50;

impl Machine {
    /// A call is about to touch these files, or would like to.
    pub(in crate::turn) fn touch(&mut self, prepared: &Prepared) {
        let Some(turn) = &mut self.turn else { return };
        let inside = prepared.targets.iter().filter(|target| matches!(target.zone, Zone::Root(_)));
        turn.touched.paths.extend(inside.map(|target| target.path.clone()));
        for source in &prepared.nested {
            turn.touched.found(source.clone());
        }
        self.ask_for_surroundings();
    }

    /// Tells the rules of what was touched, before a request that is certain to be sent: what it says counts as said only
    /// with that request.
    pub(in crate::turn) fn tell_rules(&mut self) {
        let Some(turn) = &self.turn else { return };
        let mut stated = self.view.stated().clone();
        let budget = instructions_budget(self.settings.model.context_window);
        let (environment, touched) = (&turn.environment, &turn.touched);
        let roots = &environment.user_info.roots;
        let told = rules::tell(&environment.rules, touched, roots, &mut stated, budget, self.prompts());
        if let Some((names, text)) = told {
            let item = self.remind(MetaCause::RuleApplies, text);
            stated.say(&names, item);
            self.view.state(stated);
        }
    }

    /// A turn that was taken up from the store finds out what it has around itself, once.
    fn ask_for_surroundings(&mut self) {
        let Some(turn) = self.turn.as_mut().filter(|turn| turn.surroundings == Surroundings::Unknown) else { return };
        turn.surroundings = Surroundings::Asked;
        self.effects.push(Effect::Collect { turn: turn.no, wanted: Box::new(Wanted::default()) });
    }

    /// The surroundings of a turn that was taken up are known. They are not stated: the next turn does that.
    pub(in crate::turn) fn surroundings_known(&mut self, environment: &Environment) {
        let Some(turn) = self.turn.as_mut().filter(|turn| turn.surroundings == Surroundings::Asked) else { return };
        *turn.environment = environment.clone();
        turn.surroundings = Surroundings::Known;
        let waiting: Vec<Call> = match &turn.phase {
            Phase::Calls(slots) => slots
                .iter()
                .filter(|slot| matches!(slot.state, SlotState::Loading) && slot.tool == "fetch_rules")
                .filter_map(|slot| slot.call.clone())
                .collect(),
            Phase::Collecting | Phase::Compacting | Phase::Calling(_) | Phase::Backoff { .. } | Phase::Asking(_) => {
                Vec::new()
            }
        };
        for call in &waiting {
            let outcome = self.given_rules(call);
            self.settle(call.id, outcome);
        }
        if !waiting.is_empty() {
            self.advance();
            self.commit();
        }
    }

    /// The rules with these names; none while the surroundings are being collected.
    pub(in crate::turn) fn fetch_rules(&mut self, call: &Call) -> Option<Outcome> {
        self.ask_for_surroundings();
        if self.turn.as_ref().is_some_and(|turn| turn.surroundings == Surroundings::Asked) {
            self.wait_for_surroundings(call.id);
            return None;
        }
        Some(self.given_rules(call))
    }

    fn wait_for_surroundings(&mut self, id: CallId) {
        if let Some(slot) = self.slot(id) {
            slot.state = SlotState::Loading;
        }
    }

    fn given_rules(&self, call: &Call) -> Outcome {
        let names = call.args.get("rule_names").and_then(serde_json::Value::as_array);
        let names: Vec<&str> = names.into_iter().flatten().filter_map(serde_json::Value::as_str).collect();
        let known = self.turn.as_ref().map(|turn| turn.environment.rules.as_slice()).unwrap_or_default();
        given(known, &names)
    }
}

fn given(known: &[Rule], names: &[&str]) -> Outcome {
    let find = |name: &str| {
        let name = name.trim();
        let plain = name.strip_suffix(".md").unwrap_or(name);
        known.iter().find(|rule| rule.name == name || rule.name == plain || rule.path == name)
    };
    let found: Vec<&Rule> = names.iter().filter_map(|name| find(name)).collect();
    let unknown: Vec<&str> = names.iter().filter(|name| find(name).is_none()).copied().collect();
    let mut parts: Vec<String> = found.iter().map(|rule| shown(rule)).collect();
    if names.is_empty() || !unknown.is_empty() {
        let all: Vec<&str> = known.iter().map(|rule| rule.name.as_str()).collect();
        let there_are =
            if all.is_empty() { "There are none here".to_owned() } else { format!("There are: {}", all.join(", ")) };
        let alike = |rule: &&str| unknown.iter().any(|name| name.len() < 200 && distance(name, rule) <= rule.len() / 3);
        let near: Vec<&str> = all.iter().filter(|rule| alike(rule)).copied().collect();
        let near = if near.is_empty() { String::new() } else { format!(" Near: {}.", near.join(", ")) };
        let missing = if unknown.is_empty() {
            "No rule was named.".to_owned()
        } else {
            format!("There is no rule `{}`.", unknown.join("`, `"))
        };
        parts.push(format!(
            "{missing}{near} {there_are}. Rules that are always in force were given before and have no name here."
        ));
    }
    let text = parts.join("\n\n");
    if found.is_empty() { Outcome::failed(text) } else { Outcome { status: Status::Ok, body: Body::Text(text) } }
}

/// A rule with its text and the names of what it links to.
fn shown(rule: &Rule) -> String {
    let mut head = format!("Rule {} ({})", rule.name, rule.path);
    if !rule.globs.is_empty() {
        // Writing to a String cannot fail.
        let _ = write!(head, ", for {}", rule.globs.join(", "));
    }
    let links = links(&rule.text);
    let folder = rule.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut text = format!("{head}:\n{}", rule.text.trim_end());
    if !links.is_empty() {
        let paths: Vec<String> = links
            .iter()
            .map(|link| if link.starts_with('/') { link.clone() } else { format!("{folder}/{link}") })
            .collect();
        // Writing to a String cannot fail.
        let _ = write!(text, "\nParts of it that are not shown here: {}", paths.join(", "));
    }
    text
}

/// Files that a Markdown text links to or shows as an image, each once.
fn links(text: &str) -> Vec<String> {
    let mut links: Vec<String> = Vec::new();
    for (at, _) in text.match_indices("](") {
        let rest = text.get(at + 2..).unwrap_or_default();
        let target = rest.split([')', '\n']).next().unwrap_or_default();
        // A title may follow.
        let target = target.split_whitespace().next().unwrap_or_default().trim_matches(['<', '>']);
        let target = target.split('#').next().unwrap_or_default();
        let elsewhere = target.is_empty() || target.contains("://") || target.starts_with("mailto:");
        if !elsewhere && !links.iter().any(|known| known == target) && links.len() < LINKS {
            links.push(target.to_owned());
        }
    }
    links
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> Vec<Rule> {
        let rule = |name: &str, text: &str| Rule {
            name: name.to_owned(),
            path: format!("/w/.plimsoll/rules/{name}.md"),
            root: Some(0),
            description: None,
            globs: Vec::new(),
            text: text.to_owned(),
        };
        vec![rule("release", "See [the list](lists/all.md#top) and ![x](a.png \"t\").\n"), rule("style", "Tabs.\n")]
    }

    fn text(outcome: Outcome) -> (Status, String) {
        let Body::Text(text) = outcome.body else { panic!("{outcome:?}") };
        (outcome.status, text)
    }

    #[test]
    fn rules_are_given_with_the_names_of_their_other_parts() {
        let (status, text) = text(given(&rules(), &["release", "style.md"]));
        assert_eq!(status, Status::Ok);
        assert_eq!(
            text,
            "Rule release (/w/.plimsoll/rules/release.md):\n\
             See [the list](lists/all.md#top) and ![x](a.png \"t\").\n\
             Parts of it that are not shown here: /w/.plimsoll/rules/lists/all.md, /w/.plimsoll/rules/a.png\n\n\
             Rule style (/w/.plimsoll/rules/style.md):\nTabs."
        );
    }

    #[test]
    fn an_unknown_name_is_answered_with_those_that_there_are() {
        let (status, failed) = text(given(&rules(), &["styl"]));
        assert_eq!(status, Status::Failed);
        assert!(failed.starts_with("There is no rule `styl`. Near: style. There are: release, style."), "{failed}");
        let (status, some) = text(given(&rules(), &["style", "nothing"]));
        assert!(status == Status::Ok && some.contains("Tabs.\n\nThere is no rule `nothing`."), "{some}");
        let (status, none) = text(given(&[], &[]));
        assert!(status == Status::Failed && none.starts_with("No rule was named. There are none here."), "{none}");
    }
}
