//! `plimsoll config`: shows, changes and checks the configuration. It works on the files themselves, so it needs no daemon,
//! and helps also where the configuration keeps one from working.

use super::connect::CommandError;
use super::reach::own_environment;
use super::sessions::project_folder;
use super::{args, out};
use crate::config::{
    Change, Config, ConfigError, Folders, Layer, Overrides, Place, Setting, Source, WriteError, check, known_key,
    schema, typed,
};
use serde_json::{Value, json};
use std::path::Path;
use std::process::ExitCode;

/// Runs the command.
pub fn main(arguments: &args::Configure) -> ExitCode {
    run(arguments).unwrap_or_else(|error| error.report())
}

fn run(arguments: &args::Configure) -> Result<ExitCode, CommandError> {
    let folders = Folders::of_process()?;
    match &arguments.action {
        None => get(&folders, None, None, false),
        Some(args::ConfigAction::Get { key, project, json }) => {
            get(&folders, key.as_deref(), project.as_deref(), *json)
        }
        Some(args::ConfigAction::Set { key, value, json }) => {
            let path = known_key(key).map_err(argument)?;
            change(&folders, key, &typed(&path, value), *json)
        }
        Some(args::ConfigAction::Unset { key, json }) => change(&folders, key, &Value::Null, *json),
        Some(args::ConfigAction::Check { project, json }) => look(&folders, project.as_deref(), *json),
        Some(args::ConfigAction::Path) => {
            out::line(&folders.config_file().display().to_string())?;
            Ok(ExitCode::SUCCESS)
        }
        Some(args::ConfigAction::Schema { project }) => {
            let schema = if *project { schema::of_project() } else { schema::of_file() };
            out::line(&serde_json::to_string_pretty(schema).map_err(std::io::Error::from)?)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn get(folders: &Folders, key: Option<&str>, project: Option<&Path>, json: bool) -> Result<ExitCode, CommandError> {
    let path = key.map(known_key).transpose().map_err(argument)?.unwrap_or_default();
    let folder = project_folder(project)?;
    let config = Config::load_for(folders, &own_environment(), Some(&folder), &Overrides::default())?;
    let mut settings = config.settings(folders)?;
    settings.retain(|setting| setting.path.starts_with(&path));
    if json {
        // As `config/get` answers.
        out::json(&crate::rpc::to_wire::configuration(settings, config.warnings))?;
        return Ok(ExitCode::SUCCESS);
    }
    for warning in &config.warnings {
        out::note(&format!("warning: {}", out::harmless(warning, false)));
    }
    match settings.as_slice() {
        [one] if one.path == path => {
            if one.value.is_null() {
                out::note(&format!("{} is not set", one.key()));
                return Ok(ExitCode::FAILURE);
            }
            let text = one.value.as_str().map_or_else(|| one.value.to_string(), str::to_owned);
            out::note(&format!("# {}", said_by(one)));
            out::line(&out::harmless(&text, true))?;
        }
        [] => {
            out::note(&format!("{} is not set", key.unwrap_or_default()));
            return Ok(ExitCode::FAILURE);
        }
        all => out::print(&table(all))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Every key on a line, as TOML would have it, with who said so.
fn table(settings: &[Setting]) -> String {
    let line = |setting: &Setting| match &setting.value {
        Value::Null => format!("{} is not set", setting.key()),
        value => format!("{} = {}", setting.key(), out::harmless(&value.to_string(), false)),
    };
    let lines: Vec<String> = settings.iter().map(line).collect();
    // Long values do not push everybody's sources out of sight.
    let width = lines.iter().map(|line| line.chars().count()).filter(|width| *width <= 60).max().unwrap_or(0);
    let rows = lines.iter().zip(settings).map(|(line, setting)| format!("{line:<width$}  # {}\n", said_by(setting)));
    rows.collect()
}

/// Who said what counts; of a list everybody.
fn said_by(setting: &Setting) -> String {
    if setting.from.is_empty() {
        return "built in".to_owned();
    }
    let mut said: Vec<String> = setting.from.iter().map(of_source).collect();
    said.dedup();
    said.join(", ")
}

fn of_source(source: &Source) -> String {
    let layer = source.layer.word();
    match &source.place {
        Place::File { file, line, .. } => format!("{layer}: {}:{line}", file.display()),
        Place::WholeFile(file) => format!("{layer}: {}", file.display()),
        Place::Variable(name) | Place::Option(name) => format!("{layer}: {name}"),
    }
}

fn change(folders: &Folders, key: &str, value: &Value, json: bool) -> Result<ExitCode, CommandError> {
    let change = Change::make(folders, key, value).map_err(|error| match error {
        WriteError::Config(error) if matches!(error.place, Place::Option(_)) => argument(error),
        WriteError::Config(error) => CommandError::Config(error),
        other @ (WriteError::ReadOnly(_) | WriteError::Changed(_) | WriteError::Write { .. }) => {
            CommandError::Io(std::io::Error::other(other))
        }
    })?;
    if json {
        let file = change.file.display().to_string();
        out::json(&json!({ "file": file, "changed": change.changed, "warnings": change.warnings }))?;
        return Ok(ExitCode::SUCCESS);
    }
    for warning in &change.warnings {
        out::note(&format!("warning: {}", out::harmless(warning, false)));
    }
    let file = change.file.display();
    if !change.changed {
        out::note(&format!("{file} says so already"));
        return Ok(ExitCode::SUCCESS);
    }
    let path = known_key(key).unwrap_or_default();
    let counts = schema::counts(&path).map(|counts| format!(" {counts}")).unwrap_or_default();
    out::note(&format!("written into {file}.{counts}"));
    // What somebody else says over it would be looked for in vain.
    let config = Config::load_for(folders, &own_environment(), None, &Overrides::default());
    let settings = config.and_then(|config| config.settings(folders)).unwrap_or_default();
    let over = settings.iter().filter(|setting| setting.path == path).flat_map(|setting| &setting.from);
    for source in over.filter(|source| source.layer == Layer::Environment) {
        out::note(&format!("here something else counts: {}", of_source(source)));
    }
    Ok(ExitCode::SUCCESS)
}

fn look(folders: &Folders, project: Option<&Path>, json: bool) -> Result<ExitCode, CommandError> {
    let folder = project_folder(project)?;
    let found = check::check(folders, &own_environment(), Some(&folder));
    if json {
        let errors: Vec<Value> = found
            .errors
            .iter()
            .map(|error| json!({ "place": error.place.to_string(), "problem": error.problem, "fix": error.fix }))
            .collect();
        out::json(&json!({ "errors": errors, "warnings": found.warnings }))?;
    } else {
        let errors = found.errors.iter().map(|error| format!("error: {error}"));
        let warnings = found.warnings.iter().map(|warning| format!("warning: {warning}"));
        for line in errors.chain(warnings) {
            out::line(&out::harmless(&line, false))?;
        }
        if found.errors.is_empty() && found.warnings.is_empty() {
            out::note(&format!("nothing is wrong with {}", folders.config_file().display()));
        }
    }
    Ok(if found.errors.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn argument(error: ConfigError) -> CommandError {
    CommandError::Argument { message: error.problem, hint: error.fix }
}
