//! What a project's own file may say: it chooses among what the user configured, and is stricter; it never grants.

use super::super::error::Place;
use super::super::prompts::PromptChoice;
use super::super::raw::RawConfig;
use super::{Config, limit};
use std::path::Path;

impl Config {
    /// Takes what counts. What is wrong or would grant is a warning.
    pub(super) fn add_project(&mut self, file: &Path) {
        let project = match RawConfig::read(file) {
            Ok(project) => project,
            Err(error) => {
                self.warnings.push(format!("this project's configuration is ignored: {error}"));
                return;
            }
        };
        self.warnings.extend(project.warnings);
        let mut ignored = |place: &Place, why: &str| self.warnings.push(format!("{place}: ignored: {why}"));
        for provider in project.providers.values() {
            ignored(
                &provider.place,
                "a project cannot name hosts, keys or programs; move it to your own configuration",
            );
        }
        if let Some(offer) = &project.offer {
            ignored(&offer.place, "a project does not speak for you; set it in your own configuration");
        }
        if let Some(minutes) = &project.idle_stop_minutes {
            ignored(&minutes.place, "the daemon serves all projects; set it in your own configuration");
        }
        let (results, shortening) = project.context.written();
        for place in results {
            ignored(place, "what results cost is yours to say; set it in your own configuration");
        }
        for place in shortening {
            ignored(place, "when a history is shortened is yours to say; set it in your own configuration");
        }
        if let Some(steps) = &project.max_steps_per_turn {
            if steps.value <= self.max_steps_per_turn {
                self.max_steps_per_turn = steps.value;
                self.places.set("limits.max_steps_per_turn", &steps.place);
            } else {
                ignored(&steps.place, "a project cannot raise the limit");
            }
        }
        if let Some(cost) = &project.session_cost {
            match (limit(cost.value), self.session_cost) {
                (Some(limit), known) if known.is_none_or(|known| limit <= known) => {
                    self.session_cost = Some(limit);
                    self.places.set("limits.session_cost", &cost.place);
                }
                (None, None) => {}
                _ => ignored(&cost.place, "a project cannot raise the limit"),
            }
        }
        for (key, place) in [
            ("tests.command", project.tests.command.as_ref().map(|command| &command.place)),
            ("tests.timeout_minutes", project.tests.timeout_minutes.as_ref().map(|minutes| &minutes.place)),
        ] {
            if let Some(place) = place {
                self.places.set(key, place);
            }
        }
        // It says what the command is; whether it runs is decided when it is to run.
        self.tests.add(project.tests);
        self.sources.add_project(&project.sources, &mut self.warnings);
        self.places.take_stricter(&project.permissions, self.permissions.mode);
        self.permissions.add_project(project.permissions, &mut self.warnings);
        PromptChoice::ignore(&project.prompt, &mut self.warnings);
        if let Some(language) = project.language {
            self.places.set("language", &language.place);
            self.language = Some(language.value);
        }
        if let Some(model) = project.model {
            match self.find(&model.value, &model.place) {
                Ok(_) => (self.model_id, self.model_place) = (model.value, model.place),
                Err(error) => self.warnings.push(format!("{error} (this project's choice of model is ignored)")),
            }
        }
    }
}
