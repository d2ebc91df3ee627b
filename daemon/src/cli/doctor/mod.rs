//! `plimsoll doctor`: looks at everything that Plimsoll needs and says what to do about what is wrong. It changes
//! nothing, starts no daemon and shows no key. The looks are one file each.

mod call;
mod configuration;
mod data;
mod finding;
mod folders;
mod life;
mod servers;
mod system;
mod texts;

use super::connect::{self, CommandError};
use super::{args, build, out, reach};
use crate::config::{Config, Folders, Overrides};
use finding::{Finding, Report};
use std::process::ExitCode;

/// Runs the command.
pub fn main(arguments: &args::Doctor) -> ExitCode {
    let run = || -> Result<ExitCode, CommandError> {
        let report = connect::runtime()?.block_on(examine(arguments.provider.as_deref()));
        if arguments.json {
            out::json(&report)?;
        } else {
            out::print(&report.text(out::Style::of_stdout()))?;
        }
        Ok(if report.errors == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    };
    run().unwrap_or_else(|error| error.report())
}

async fn examine(provider: Option<&str>) -> Report {
    let mut findings = Vec::new();
    let env = reach::own_environment();
    match Folders::of_process() {
        Ok(folders) => {
            // The folder in which it is called is the project, as for `ask`.
            let project = std::env::current_dir().ok();
            let config = Config::load_for(&folders, &env, project.as_deref(), &Overrides::default());
            findings.extend(folders::check(&folders));
            findings.extend(configuration::check(&folders, &config, &env));
            findings.extend(texts::check(&folders, config.as_ref().ok(), project.as_deref()));
            findings.extend(life::check(&folders).await);
            findings.extend(data::check(&folders, life::is_running(&folders)));
            findings.extend(system::check());
            findings.extend(system::limits().await);
            findings.extend(servers::check(config.as_ref().ok(), &folders.config_file()).await);
            if let (Some(provider), Ok(config)) = (provider, &config) {
                findings.push(call::check(config, provider, &env).await);
            }
        }
        Err(error) => {
            let fix = "set HOME to your home folder";
            findings.push(Finding::of_message("folders.unknown", finding::Level::Error, &error.to_string(), fix));
            findings.extend(system::check());
            findings.extend(system::limits().await);
        }
    }
    Report::new(build::version(), findings)
}
