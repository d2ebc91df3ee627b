//! Which texts for the model stand in the place of built-in ones, and which of them cannot be used?

use super::finding::{Finding, Level};
use crate::config::{Config, Folders, TextFiles};
use std::path::Path;

/// The texts of administrator and user, and those of the project, which count when it is trusted.
pub fn check(folders: &Folders, config: Option<&Config>, project: Option<&Path>) -> Vec<Finding> {
    // Without a model nothing is too large; that there is none is told elsewhere.
    let window =
        config.and_then(|config| config.model(None).ok()).map_or(u64::MAX, |(profile, _)| profile.context_window);
    let found = TextFiles::default().find(folders, project, window);
    let warnings = found.warnings.iter();
    let otherwise = "correct the file, or remove it";
    let mut findings: Vec<Finding> =
        warnings.map(|text| Finding::of_message("texts.own", Level::Warn, text, otherwise)).collect();
    if !found.texts.is_empty() {
        let paths: Vec<&str> = found.texts.keys().map(String::as_str).collect();
        findings
            .push(Finding::ok("texts.own", format!("own texts in the place of built-in ones: {}", paths.join(", "))));
    }
    findings
}
