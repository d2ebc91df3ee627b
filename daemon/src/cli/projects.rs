//! `plimsoll project` and `plimsoll transcript`: projects and derived files as they are stored.

use super::connect::{self, CommandError};
use super::permissions::project_of;
use super::reach::Spawn;
use super::sessions::{self, Wanted, project_folder};
use super::{args, out};
use crate::rpc::client::RpcClient;
use crate::rpc::{path_from_wire, path_to_wire};
use plimsoll_protocol::project::{Project, ProjectApiClient};
use plimsoll_protocol::transcript::{RebuildResult, TranscriptApiClient};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Sessions of a project whose files are made anew, at most: more than anybody has.
const MOST: u32 = 100_000;

/// Runs `plimsoll project`.
pub fn project(arguments: &args::Project) -> ExitCode {
    connect::with_client(Spawn::WhenNone, async |client, _| match &arguments.action {
        args::ProjectAction::List { json } => list(&client, *json).await,
        args::ProjectAction::Relocate { project, roots, json } => relocate(&client, project, roots, *json).await,
    })
}

async fn list(client: &RpcClient, json: bool) -> Result<ExitCode, CommandError> {
    let projects = ProjectApiClient::list(client).await?.projects;
    if json {
        for project in &projects {
            out::json(project)?;
        }
    } else if projects.is_empty() {
        out::note("no projects yet");
    } else {
        out::print(&table(&projects, Path::is_dir))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The table for people.
fn table(projects: &[Project], is_there: impl Fn(&Path) -> bool) -> String {
    let width = projects.iter().map(|project| project.key.len()).max().unwrap_or(0);
    let mut text = String::new();
    for project in projects {
        let root = |root: &String| {
            let gone = if is_there(&path_from_wire(root)) { "" } else { " [gone]" };
            format!("{}{gone}", out::harmless(root, false))
        };
        let roots: Vec<String> = project.roots.iter().map(root).collect();
        let trusted = if project.trusted { "  [trusted]" } else { "" };
        let key = out::harmless(&project.key, false);
        let _ = writeln!(text, "{key:width$}  {}{trusted}", roots.join(", "));
    }
    text
}

async fn relocate(client: &RpcClient, named: &Path, roots: &[PathBuf], json: bool) -> Result<ExitCode, CommandError> {
    let projects = ProjectApiClient::list(client).await?.projects;
    let found = find(&projects, named).ok_or_else(|| CommandError::Argument {
        message: format!("there is no project {}", named.display()),
        hint: "`plimsoll project list` shows their keys and folders".to_owned(),
    })?;
    let mut folders = Vec::new();
    for root in roots {
        folders.push(path_to_wire(&project_folder(Some(root))?));
    }
    let project = client.relocate(found.key.clone(), folders, None).await?;
    if json {
        out::json(&project)?;
    } else {
        out::note(&format!("{} is at {} now", project.key, out::harmless(&project.roots.join(", "), false)));
    }
    Ok(ExitCode::SUCCESS)
}

/// The project with this key, else the one that this folder names, which need not be there any more.
fn find<'a>(projects: &'a [Project], named: &Path) -> Option<&'a Project> {
    if let Some(project) = projects.iter().find(|project| Path::new(&project.key) == named) {
        return Some(project);
    }
    let absolute = named.canonicalize().or_else(|_| std::path::absolute(named)).ok()?;
    projects.iter().find(|project| project.roots.first().is_some_and(|root| path_from_wire(root) == absolute))
}

/// Runs `plimsoll transcript`.
pub fn transcript(arguments: &args::Transcript) -> ExitCode {
    connect::with_client(Spawn::WhenNone, async |client, _| match &arguments.action {
        args::TranscriptAction::Rebuild { session: Some(session), json, .. } => {
            rebuild(&client, std::slice::from_ref(session), *json).await
        }
        args::TranscriptAction::Rebuild { session: None, project, json } => {
            let folder = project_folder(project.as_deref())?;
            let of_folder = project_of(&client, &folder).await?.ok_or_else(|| CommandError::Argument {
                message: format!("{} is in no project", folder.display()),
                hint: "name a session; `plimsoll sessions --all` lists them".to_owned(),
            })?;
            let found = sessions::list_wanted(&client, Wanted::of_project(&of_folder.key), MOST).await?;
            let ids: Vec<String> = found.into_iter().map(|session| session.id).collect();
            rebuild(&client, &ids, *json).await
        }
    })
}

async fn rebuild(client: &RpcClient, sessions: &[String], json: bool) -> Result<ExitCode, CommandError> {
    let (mut lost, many) = (0, sessions.len());
    for (no, session) in (1..).zip(sessions) {
        if many > 1 && out::stderr_is_terminal() {
            out::transient(&format!("{no} of {many}"));
        }
        let rebuilt = TranscriptApiClient::rebuild(client, session.clone(), None).await;
        if many > 1 && out::stderr_is_terminal() {
            out::transient("");
        }
        let rebuilt = rebuilt?;
        lost += rebuilt.lost;
        if json {
            out::json(&rebuilt)?;
        } else {
            out::line(&said(&rebuilt))?;
        }
    }
    if many == 0 {
        out::note("no sessions in this project");
    }
    Ok(if lost == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What was made, for people.
fn said(rebuilt: &RebuildResult) -> String {
    let RebuildResult { path, items, bytes, restored, lost, .. } = rebuilt;
    let mut text = format!("{}: {items} items, {bytes} bytes", out::harmless(path, false));
    if *restored > 0 {
        let _ = write!(text, "; {restored} saved texts made again");
    }
    if *lost > 0 {
        let _ = write!(text, "; {lost} saved texts are gone for good");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(key: &str, roots: &[&str], trusted: bool) -> Project {
        let roots = roots.iter().map(|root| (*root).to_owned()).collect();
        Project { key: key.to_owned(), roots, created_at: 0, trusted }
    }

    #[test]
    fn the_table_shows_keys_folders_and_which_are_gone() {
        let projects = [project("1-a", &["/w/a", "/w/b"], true), project("22-c", &["/w/c"], false)];
        let expected = "1-a   /w/a, /w/b [gone]  [trusted]\n22-c  /w/c [gone]\n";
        assert_eq!(table(&projects, |path| path == Path::new("/w/a")), expected);
    }

    #[test]
    fn a_project_is_found_by_its_key_and_by_a_folder_that_is_gone() {
        let projects = [project("1-a", &["/no/such/a"], false), project("2-b", &["/no/such/b", "/no/such/a"], false)];
        let found = |named: &str| find(&projects, Path::new(named)).map(|project| project.key.as_str());
        assert_eq!((found("2-b"), found("/no/such/b"), found("/no/such/c")), (Some("2-b"), Some("2-b"), None));
    }

    #[test]
    fn what_was_rebuilt_is_told_on_one_line() {
        let mut rebuilt = RebuildResult {
            session: "s".to_owned(),
            path: "/d/s/transcript.txt".to_owned(),
            items: 3,
            bytes: 90,
            restored: 0,
            lost: 0,
        };
        assert_eq!(said(&rebuilt), "/d/s/transcript.txt: 3 items, 90 bytes");
        (rebuilt.restored, rebuilt.lost) = (2, 1);
        let expected =
            "/d/s/transcript.txt: 3 items, 90 bytes; 2 saved texts made again; 1 saved texts are gone for good";
        assert_eq!(said(&rebuilt), expected);
    }
}
