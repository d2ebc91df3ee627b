//! `plimsoll inspect`: what the model will see, layer by layer, and what a prompt would send and cost.

mod text;

pub use text::{dollars, items, share, thousands};

use super::connect::{self, CommandError};
use super::reach::Spawn;
use super::{args, out, sessions};
use crate::rpc::client::RpcClient;
use plimsoll_protocol::context::{ContextApiClient, PreviewFile};
use plimsoll_protocol::editor::LineRange;
use plimsoll_protocol::request::RequestApiClient;
use std::path::Path;
use std::process::ExitCode;

/// Requests whose cache is shown below the layers.
const RECENT: u32 = 5;

/// Runs the command.
pub fn main(arguments: &args::Inspect) -> ExitCode {
    connect::with_client(Spawn::WhenNone, async |client, _| {
        let session = session(&client, arguments.session.as_deref(), arguments.project.as_deref()).await?;
        let asks = arguments.prompt.is_some() || arguments.model.is_some() || !arguments.file.is_empty();
        let inspection = if asks {
            let files = arguments.file.iter().map(|file| preview_file(file)).collect::<Result<_, _>>()?;
            client.preview(session.clone(), arguments.prompt.clone(), Some(files), arguments.model.clone()).await?
        } else {
            client.inspect(session.clone()).await?
        };
        if arguments.json {
            out::json(&inspection)?;
            return Ok(ExitCode::SUCCESS);
        }
        let recent = RequestApiClient::list(&client, session, None, Some(RECENT)).await?;
        out::print(&text::inspection(&inspection, &recent, out::Style::of_stdout()))?;
        Ok(ExitCode::SUCCESS)
    })
}

/// The session that is named, else the newest of the project of this folder.
pub async fn session(client: &RpcClient, named: Option<&str>, project: Option<&Path>) -> Result<String, CommandError> {
    if let Some(named) = named {
        return Ok(named.to_owned());
    }
    let folder = sessions::project_folder(project)?;
    let found = sessions::list(client, Some(&folder), 1).await?;
    found.into_iter().next().map(|session| session.id).ok_or_else(|| CommandError::Argument {
        message: format!("there is no session in {}", folder.display()),
        hint: "name one; `plimsoll sessions --all` lists them".to_owned(),
    })
}

/// `path`, or `path:3-20` for some of its lines; relative to the current folder.
fn preview_file(given: &str) -> Result<PreviewFile, CommandError> {
    let (path, lines) = match given.rsplit_once(':').and_then(|(path, lines)| Some((path, range(lines)?))) {
        Some((path, lines)) if !Path::new(given).exists() => (path, Some(lines)),
        Some(_) | None => (given, None),
    };
    let wrong = |error: &std::io::Error| CommandError::Argument {
        message: format!("the file {path} cannot be put beside the prompt: {error}"),
        hint: "give an existing file with --file, or some of its lines as path:3-20".to_owned(),
    };
    let path = Path::new(path).canonicalize().map_err(|error| wrong(&error))?;
    let path = crate::rpc::path_to_wire(&path);
    Ok(PreviewFile { path, lines })
}

fn range(text: &str) -> Option<LineRange> {
    let (start, end) = text.split_once('-').unwrap_or((text, text));
    let (start, end) = (start.parse().ok()?, end.parse().ok()?);
    (1..=end).contains(&start).then_some(LineRange { start, end })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_may_be_followed_by_its_lines() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a:1");
        std::fs::write(&file, "x").unwrap();
        let given = file.to_str().unwrap();
        let path = crate::rpc::path_to_wire(&file.canonicalize().unwrap());
        let plain = PreviewFile { path: path.clone(), lines: None };
        assert_eq!(preview_file(given).unwrap(), plain);
        let some = PreviewFile { path, lines: Some(LineRange { start: 3, end: 20 }) };
        assert_eq!(preview_file(&format!("{given}:3-20")).unwrap(), some);
        assert_eq!(range("7"), Some(LineRange { start: 7, end: 7 }));
        assert_eq!((range("7-3"), range("0-3"), range("x")), (None, None, None));
        assert!(preview_file("/no/such/file").unwrap_err().to_string().contains("/no/such/file"));
    }
}
