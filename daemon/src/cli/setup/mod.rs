//! `plimsoll setup`: writes Plimsoll into files of other programs. Each shows what it would change before it does, and
//! loses nothing that is there.

mod editor;
mod place;
mod service;

use super::args::{Setup, SetupWhat};
use super::confirm::{self, Said};
use super::out;
use editor::Editor;
use std::process::ExitCode;

/// Exit code when a yes was needed and nobody could be asked.
const NOBODY_ASKED: u8 = 3;

/// Runs `plimsoll setup`.
pub fn main(arguments: &Setup) -> ExitCode {
    match &arguments.what {
        SetupWhat::Service(service) => service::main(service),
        SetupWhat::Zed(arguments) => editor::main(Editor::Zed, arguments),
        SetupWhat::Jetbrains(arguments) => editor::main(Editor::Jetbrains, arguments),
    }
}

/// The exit code where there is no yes.
fn refused(yes: bool, question: &str) -> Option<ExitCode> {
    match if yes { Said::Yes } else { confirm::ask(question) } {
        Said::Yes => None,
        Said::No => {
            out::note("nothing was changed");
            Some(ExitCode::FAILURE)
        }
        Said::Nobody => {
            out::error("nobody could be asked, so nothing was changed", Some("give --yes"));
            Some(ExitCode::from(NOBODY_ASKED))
        }
    }
}
