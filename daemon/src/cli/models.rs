//! `plimsoll models`: what sessions can be made with.

use super::connect::{self, CommandError};
use super::permissions::project_of;
use super::reach::Spawn;
use super::sessions::project_folder;
use super::{args, out};
use plimsoll_protocol::model::{ListResult, ModelApiClient};
use std::fmt::Write as _;
use std::process::ExitCode;

/// Runs the command.
pub fn main(arguments: &args::Models) -> ExitCode {
    connect::with_client(Spawn::WhenNone, async |client, _| {
        let project = project_of(&client, &project_folder(arguments.project.as_deref())?).await?;
        let found = ModelApiClient::list(&client, project.map(|project| project.key)).await?;
        if arguments.json {
            for model in &found.models {
                out::json(model)?;
            }
        } else {
            out::print(&table(&found))?;
        }
        Ok::<_, CommandError>(ExitCode::SUCCESS)
    })
}

/// The table for people; a star stands before the model of new sessions.
fn table(found: &ListResult) -> String {
    let width = found.models.iter().map(|model| model.id.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for model in &found.models {
        let star = if model.id == found.default { '*' } else { ' ' };
        let key = match model.key_state.as_str() {
            "set" => "key set",
            "missing" => "key missing",
            "notNeeded" => "no key needed",
            other => other,
        };
        let images = if model.images { ", images" } else { "" };
        let (window, output) = (model.context_window, model.max_output);
        let id = out::harmless(&model.id, false);
        let _ = writeln!(text, "{star} {id:<width$}  window {window}, answer {output}{images}; {key}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_protocol::model::Model;

    #[test]
    fn the_table_marks_the_default_and_says_what_a_key_is_like() {
        let model = |id: &str, images: bool, key: &str| Model {
            id: id.to_owned(),
            context_window: 8_192,
            max_output: 1_024,
            images,
            key_state: key.to_owned(),
        };
        let models = vec![model("a/one", true, "missing"), model("offline/retrieval", false, "notNeeded")];
        let expected = "* a/one              window 8192, answer 1024, images; key missing\n  offline/retrieval  window 8192, \
            answer 1024; no key needed\n";
        assert_eq!(table(&ListResult { models, default: "a/one".to_owned() }), expected);
    }
}
