//! `plimsoll sessions`: what was talked about, newest first.

use super::confirm::{self, Said};
use super::connect::{self, CommandError};
use super::reach::Spawn;
use super::{args, out};
use crate::rpc::client::RpcClient;
use jiff::Timestamp;
use plimsoll_protocol::project::{Project, ProjectApiClient};
use plimsoll_protocol::session::{Archived, SessionApiClient, SessionInfo, SessionState};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Sessions in one answer: the most that the protocol gives.
const PAGE: u32 = 500;
/// Width of a title in the table.
const TITLE_WIDTH: usize = 60;

/// Runs the command.
pub fn main(arguments: &args::Sessions) -> ExitCode {
    connect::with_client(Spawn::WhenNone, async |client, _| match &arguments.action {
        None => show(&client, &arguments.list).await,
        Some(args::SessionsAction::Archive { session, undo, json }) => {
            let info = client.archive(session.clone(), !undo, None).await?;
            let said = if info.archived { "archived" } else { "in lists again" };
            changed(&info, said, *json)
        }
        Some(args::SessionsAction::Rename { session, title, json }) => {
            let info = client.rename(session.clone(), title.join(" "), None).await?;
            changed(&info, "renamed", *json)
        }
        Some(args::SessionsAction::Delete { session, yes }) => delete(&client, session, *yes).await,
    })
}

fn changed(info: &SessionInfo, said: &str, json: bool) -> Result<ExitCode, CommandError> {
    if json {
        out::json(info)?;
    } else {
        out::note(&format!("{said}: {}", title(info)));
    }
    Ok(ExitCode::SUCCESS)
}

async fn delete(client: &RpcClient, session: &str, yes: bool) -> Result<ExitCode, CommandError> {
    let info = client.get(session.to_owned()).await?;
    let question = format!("Delete \"{}\" with everything that it stored?", title(&info));
    let said = if yes { Said::Yes } else { confirm::ask(&question) };
    match said {
        Said::Yes => {
            SessionApiClient::delete(client, session.to_owned(), None).await?;
            out::note(&format!("deleted: {}", title(&info)));
            Ok(ExitCode::SUCCESS)
        }
        Said::No => Ok(ExitCode::FAILURE),
        Said::Nobody => Err(CommandError::Argument {
            message: "nothing was deleted: there is no terminal to ask on".to_owned(),
            hint: "`--yes` deletes without asking".to_owned(),
        }),
    }
}

async fn show(client: &RpcClient, arguments: &args::SessionsList) -> Result<ExitCode, CommandError> {
    let folder = if arguments.all { None } else { Some(project_folder(arguments.project.as_deref())?) };
    let archived = if arguments.archived { Archived::Only } else { Archived::No };
    let wanted =
        Wanted { project: None, folder: folder.as_deref(), query: arguments.search.clone(), archived: Some(archived) };
    let found = list_wanted(client, wanted, arguments.limit).await?;
    if arguments.json {
        for session in &found {
            out::json(session)?;
        }
    } else if found.is_empty() {
        let none = if arguments.search.is_some() || arguments.archived { "no such sessions" } else { "no sessions" };
        out::note(&match &folder {
            Some(_) => format!("{none} in this project; `--all` lists those of all projects"),
            None => format!("{none} yet"),
        });
    } else {
        out::print(&table(&found, folder.is_none(), Timestamp::now(), out::Style::of_stdout()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The folder that a command is about: absolute and without links, so that it is the same wherever one comes from.
pub fn project_folder(given: Option<&Path>) -> Result<PathBuf, CommandError> {
    let folder = match given {
        Some(folder) => folder.to_owned(),
        None => std::env::current_dir()?,
    };
    let wrong = |why: String| CommandError::Argument {
        message: format!("the folder {} cannot be a project: {why}", folder.display()),
        hint: "give an existing folder with --project".to_owned(),
    };
    let canonical = folder.canonicalize().map_err(|error| wrong(error.to_string()))?;
    if canonical.is_dir() { Ok(canonical) } else { Err(wrong("it is a file".to_owned())) }
}

/// Which sessions to list.
#[derive(Default)]
pub struct Wanted<'a> {
    /// Of the project with this key.
    pub project: Option<String>,
    /// Of projects that hold this folder. Asking the daemon for the project would make one of every folder in which
    /// somebody looks.
    pub folder: Option<&'a Path>,
    /// With these words in the title.
    pub query: Option<String>,
    /// Whether archived ones are among them.
    pub archived: Option<Archived>,
}

impl Wanted<'_> {
    /// All of the project with this key.
    pub fn of_project(key: &str) -> Self {
        Self { project: Some(key.to_owned()), archived: Some(Archived::Also), ..Self::default() }
    }
}

/// Opens the project of this folder. What an editor has added to its roots stays.
pub async fn open_project(client: &RpcClient, folder: &Path) -> Result<Project, CommandError> {
    Ok(client.open(vec![crate::rpc::path_to_wire(folder)], None).await?)
}

/// The newest sessions, of projects that hold this folder when one is given.
pub async fn list(client: &RpcClient, folder: Option<&Path>, limit: u32) -> Result<Vec<SessionInfo>, CommandError> {
    list_wanted(client, Wanted { folder, ..Wanted::default() }, limit).await
}

/// The newest sessions among those that are wanted.
pub async fn list_wanted(client: &RpcClient, wanted: Wanted<'_>, limit: u32) -> Result<Vec<SessionInfo>, CommandError> {
    let limit = limit as usize;
    let Wanted { project, folder, query, archived } = wanted;
    let mut found: Vec<SessionInfo> = Vec::new();
    let mut cursor = None;
    loop {
        let (project, query) = (project.clone(), query.clone());
        let page = SessionApiClient::list(client, project, query, None, archived, cursor, Some(PAGE)).await?;
        let here = |session: &SessionInfo| folder.is_none_or(|folder| holds(session, folder));
        found.extend(page.sessions.into_iter().filter(here));
        cursor = page.next_cursor;
        if cursor.is_none() || found.len() >= limit {
            found.truncate(limit);
            return Ok(found);
        }
    }
}

fn title(info: &SessionInfo) -> String {
    let title = if info.title.is_empty() { "(no title)" } else { &info.title };
    out::short(title, TITLE_WIDTH)
}

fn holds(session: &SessionInfo, folder: &Path) -> bool {
    session.roots.iter().any(|root| folder.starts_with(root))
}

/// The table for people.
fn table(sessions: &[SessionInfo], with_project: bool, now: Timestamp, style: out::Style) -> String {
    let ids = sessions.iter().map(|session| session.id.len()).max().unwrap_or(0);
    let mut text = String::new();
    for session in sessions {
        let state = match &session.state {
            SessionState::Idle => String::new(),
            SessionState::Running => "running".to_owned(),
            SessionState::Waiting => "waiting for an answer".to_owned(),
            SessionState::Interrupted => "interrupted".to_owned(),
            SessionState::Other(other) => out::short(other, 20),
        };
        let mut line = format!(
            "{:ids$}  {:>10}  {}",
            out::harmless(&session.id, false),
            age(session.updated_at, now),
            title(session)
        );
        if !state.is_empty() {
            line.push_str(&style.bold(&format!("  [{state}]")));
        }
        if session.workspace_missing {
            line.push_str(&style.bold("  [folder gone]"));
        }
        if with_project && let Some(root) = session.roots.first() {
            line.push_str(&style.dim(&format!("  {}", out::harmless(root, false))));
        }
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// How long ago a time was, in its largest unit.
fn age(milliseconds: i64, now: Timestamp) -> String {
    let then = Timestamp::from_millisecond(milliseconds).unwrap_or(now);
    match now.duration_since(then).as_secs() {
        ..60 => "now".to_owned(),
        seconds @ 60..3_600 => format!("{} min ago", seconds / 60),
        seconds @ 3_600..86_400 => format!("{} h ago", seconds / 3_600),
        seconds => format!("{} d ago", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(id: &str, title: &str, state: SessionState, updated_at: i64) -> SessionInfo {
        SessionInfo {
            id: id.to_owned(),
            project: "p".to_owned(),
            roots: vec!["/w/app".to_owned()],
            title: title.to_owned(),
            created_at: 0,
            updated_at,
            state,
            items: 1,
            last_seq: 1,
            mode: "ask".to_owned(),
            model: "a/b".to_owned(),
            open_asks: Vec::new(),
            forked_from: None,
            imported_from: None,
            archived: false,
            workspace_missing: id == "longer",
        }
    }

    #[test]
    fn the_table_shows_id_age_title_and_what_is_not_idle() {
        let now = Timestamp::from_second(1_000_000).unwrap();
        let sessions = [
            session("s1", "Fix\nthe\x1b[2J bug", SessionState::Idle, 1_000_000_000 - 30_000),
            session("longer", "", SessionState::Waiting, 1_000_000_000 - 3 * 3_600_000),
        ];
        let expected = "s1             now  Fix the\u{fffd}[2J bug  /w/app\n\
            longer     3 h ago  (no title)  [waiting for an answer]  [folder gone]  /w/app\n";
        assert_eq!(table(&sessions, true, now, out::Style::PLAIN), expected);
    }

    #[test]
    fn ages_are_told_in_their_largest_unit() {
        let now = Timestamp::from_second(10_000_000).unwrap();
        let ages =
            [0, 59, 60, 3_599, 3_600, 90_000, 40 * 86_400].map(|seconds| age((10_000_000 - seconds) * 1_000, now));
        assert_eq!(ages, ["now", "now", "1 min ago", "59 min ago", "1 h ago", "1 d ago", "40 d ago"]);
        assert_eq!(age(i64::MAX, now), "now");
    }

    #[test]
    fn a_session_belongs_to_the_folders_below_its_roots() {
        let session = session("s", "", SessionState::Idle, 0);
        let held = ["/w/app", "/w/app/src", "/w/application", "/w"].map(|folder| holds(&session, Path::new(folder)));
        assert_eq!(held, [true, true, false, false]);
    }
}
