//! Who said what counts: for each key the place of its value, for a list one for each entry.

use super::PermissionMode;
use super::error::Place;
use super::raw::{Located, RawConfig, RawPermissions};
use plimsoll_core::permission::rule::Verdict;
use std::collections::BTreeMap;

/// See the module's head. Lists of [`Sources`](super::sources::Sources) have theirs themselves.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Places(BTreeMap<&'static str, Vec<Place>>);

impl Places {
    /// The places of a key; empty when nobody said anything.
    pub(super) fn of(&self, key: &str) -> &[Place] {
        self.0.get(key).map(Vec::as_slice).unwrap_or_default()
    }

    /// This is what counts for the key from now on.
    pub(super) fn set(&mut self, key: &'static str, place: &Place) {
        self.0.insert(key, vec![place.clone()]);
    }

    fn maybe<T>(&mut self, key: &'static str, value: Option<&Located<T>>) {
        if let Some(value) = value {
            self.set(key, &value.place);
        }
    }

    fn add(&mut self, key: &'static str, place: &Place) {
        self.0.entry(key).or_default().push(place.clone());
    }

    /// Everything that the user's or the managed file says, over what was said before. The model's place is kept with the
    /// model.
    pub(super) fn take(&mut self, raw: &RawConfig) {
        self.maybe("language", raw.language.as_ref());
        self.maybe("permissions.mode", raw.permissions.mode.as_ref());
        self.maybe("permissions.max_mode", raw.permissions.max_mode.as_ref());
        self.maybe("context.projection_tokens", raw.context.projection_tokens.as_ref());
        self.maybe("context.asked_tokens", raw.context.asked_tokens.as_ref());
        self.maybe("context.general_tokens", raw.context.general_tokens.as_ref());
        self.maybe("context.compaction", raw.context.compaction.as_ref());
        self.maybe("context.load_lines", raw.context.load_lines.as_ref());
        self.maybe("context.tail_guard_turns", raw.context.tail_guard_turns.as_ref());
        self.maybe("context.compact_every_turns", raw.context.compact_every_turns.as_ref());
        self.maybe("context.prepare_summaries", raw.context.prepare_summaries.as_ref());
        self.maybe("context.summary_model", raw.context.summary_model.as_ref());
        self.maybe("prompt.bundle", raw.prompt.bundle.as_ref());
        self.maybe("prompt.base_prompt", raw.prompt.base.as_ref());
        self.maybe("limits.max_steps_per_turn", raw.max_steps_per_turn.as_ref());
        self.maybe("limits.session_cost", raw.session_cost.as_ref());
        self.maybe("daemon.idle_stop_minutes", raw.idle_stop_minutes.as_ref());
        self.maybe("tests.command", raw.tests.command.as_ref());
        self.maybe("tests.timeout_minutes", raw.tests.timeout_minutes.as_ref());
        self.maybe("consent.offer", raw.offer.as_ref());
        for rule in &raw.permissions.rules {
            self.add(list_of(rule.value.0), &rule.place);
        }
        for folder in &raw.permissions.writable {
            self.add("permissions.writable", &folder.place);
        }
    }

    /// What a project says that is stricter than `mode` and the rules before.
    pub(super) fn take_stricter(&mut self, project: &RawPermissions, mode: PermissionMode) {
        self.maybe("permissions.mode", project.mode.as_ref().filter(|asked| asked.value <= mode));
        for rule in project.rules.iter().filter(|rule| rule.value.0 != Verdict::Allow) {
            self.add(list_of(rule.value.0), &rule.place);
        }
    }
}

/// The list in which a rule of this verdict stands.
pub(super) fn list_of(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "permissions.allow",
        Verdict::Ask => "permissions.ask",
        Verdict::Deny => "permissions.deny",
    }
}
