//! What the configuration says about permissions, with who says it: an administrator over all, the user, and a project's
//! own file, which is taken where it is stricter and never grants.

use super::PermissionMode;
use super::error::{ConfigError, Place};
use super::raw::{self, Located, RawPermissions};
use plimsoll_core::permission::policy::Modes;
use plimsoll_core::permission::rule::{Matcher, Rule, Scope, Verdict};
use std::path::{Path, PathBuf};

/// Mode, rules and declared folders as they count.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Permissions {
    /// The mode of new sessions.
    pub mode: PermissionMode,
    /// The rules of all files.
    pub rules: Vec<Rule>,
    writable: Vec<String>,
    managed: Bounds,
}

/// What the administrator leaves to choose.
#[derive(Debug, Clone, PartialEq, Default)]
struct Bounds {
    mode: Option<Located<PermissionMode>>,
    max_mode: Option<Located<PermissionMode>>,
}

impl Permissions {
    pub(super) fn of_user(user: RawPermissions, warnings: &mut Vec<String>) -> Result<Self, ConfigError> {
        if let Some(bad) = user.bad_rules.into_iter().next() {
            return Err(bad);
        }
        if let Some(max) = &user.max_mode {
            warnings.push(ignored(&max.place, "only an administrator bounds the mode; write `mode` for your own"));
        }
        Ok(Self {
            mode: user.mode.map(|mode| mode.value).unwrap_or_default(),
            rules: user.rules.into_iter().map(|rule| of_scope(rule, Scope::User)).collect(),
            writable: user.writable.into_iter().map(|folder| folder.value).collect(),
            managed: Bounds::default(),
        })
    }

    /// Takes what makes the project stricter; the rest is warned about.
    pub(super) fn add_project(&mut self, project: RawPermissions, warnings: &mut Vec<String>) {
        if let Some(mode) = &project.mode {
            if mode.value <= self.mode {
                self.mode = mode.value;
            } else {
                warnings.push(ignored(&mode.place, "a project cannot allow more than your own configuration does"));
            }
        }
        if let Some(max) = &project.max_mode {
            warnings.push(ignored(&max.place, "only an administrator bounds the mode"));
        }
        for rule in project.rules {
            match rule.value.0 {
                Verdict::Ask | Verdict::Deny => self.rules.push(of_scope(rule, Scope::Project)),
                Verdict::Allow => {
                    warnings
                        .push(ignored(&rule.place, "a project cannot grant; move the rule to your own configuration"));
                }
            }
        }
        warnings.extend(project.bad_rules.into_iter().map(|error| format!("{error} (this rule is ignored)")));
        if let Some(folder) = project.writable.first() {
            warnings.push(ignored(&folder.place, "a project cannot grant; move it to your own configuration"));
        }
    }

    pub(super) fn add_managed(&mut self, managed: RawPermissions) -> Result<(), ConfigError> {
        if let Some(bad) = managed.bad_rules.into_iter().next() {
            return Err(bad);
        }
        self.rules.extend(managed.rules.into_iter().map(|rule| of_scope(rule, Scope::Managed)));
        self.writable.extend(managed.writable.into_iter().map(|folder| folder.value));
        self.managed = Bounds { mode: managed.mode, max_mode: managed.max_mode };
        self.mode = self.held(self.mode);
        Ok(())
    }

    /// The freest mode that the administrator allows, when there is one.
    pub(super) fn max_mode(&self) -> Option<PermissionMode> {
        self.managed.max_mode.as_ref().map(|max| max.value)
    }

    /// Folders that commands may write, as they are written.
    pub(super) fn writable_as_written(&self) -> &[String] {
        &self.writable
    }

    /// The mode that counts where a session is in `mode`: never freer than the administrator allows.
    pub fn held(&self, mode: PermissionMode) -> PermissionMode {
        match (&self.managed.mode, &self.managed.max_mode) {
            (Some(set), _) => set.value,
            (None, Some(max)) => mode.min(max.value),
            (None, None) => mode,
        }
    }

    /// Between which modes a session may be.
    pub fn modes(&self) -> Modes {
        Modes { least: self.held(PermissionMode::Plan), most: self.held(PermissionMode::Full) }
    }

    /// A mode that a client asks for, when the administrator leaves the choice.
    pub fn check(&self, mode: PermissionMode) -> Result<PermissionMode, ConfigError> {
        let refused =
            |place: &Place, problem: String, fix: String| Err(ConfigError { place: place.clone(), problem, fix });
        match (&self.managed.mode, &self.managed.max_mode) {
            (Some(set), _) if set.value != mode => refused(
                &set.place,
                format!("your administrator has set the mode to \"{}\"", set.value),
                "It cannot be changed here".to_owned(),
            ),
            (None, Some(max)) if max.value < mode => refused(
                &max.place,
                format!("your administrator allows no mode freer than \"{}\"", max.value),
                format!("Choose \"{}\" or a stricter one", max.value),
            ),
            _ => Ok(mode),
        }
    }

    /// Folders that commands may write besides the project, absolute. `home` is the user's; without one, those below it are
    /// left out.
    pub fn writable(&self, home: Option<&Path>) -> Vec<PathBuf> {
        let place = |folder: &String| match folder.strip_prefix("~/") {
            Some(rest) => home.map(|home| home.join(rest)),
            None => Some(PathBuf::from(folder)),
        };
        self.writable.iter().filter_map(place).collect()
    }
}

/// A rule in its text form that a client gives as this option.
pub fn parse_rule(text: &str, option: &'static str) -> Result<Matcher, ConfigError> {
    raw::rule(text, &Place::Option(option))
}

fn of_scope(rule: Located<(Verdict, Matcher)>, scope: Scope) -> Rule {
    let (verdict, matcher) = rule.value;
    Rule { verdict, scope, matcher }
}

fn ignored(place: &Place, why: &str) -> String {
    format!("{place}: ignored: {why}")
}

#[cfg(test)]
mod tests;
