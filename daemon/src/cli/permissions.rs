//! `plimsoll grants` and `plimsoll trust`: what a user decided for a project beside its sessions.

use super::connect::{self, CommandError};
use super::reach::Spawn;
use super::sessions::{open_project, project_folder};
use super::{args, out};
use crate::rpc::client::RpcClient;
use jiff::Timestamp;
use plimsoll_protocol::permission::{Grant, PermissionApiClient};
use plimsoll_protocol::project::{Project, ProjectApiClient};
use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

/// Runs `plimsoll grants`.
pub fn grants(arguments: &args::Grants) -> ExitCode {
    connect::with_client(Spawn::WhenNone, async |client, _| match &arguments.action {
        None => list(&client, &arguments.list).await,
        Some(args::GrantsAction::Revoke { no, project }) => revoke(&client, *no, project.as_deref()).await,
    })
}

async fn list(client: &RpcClient, arguments: &args::GrantsList) -> Result<ExitCode, CommandError> {
    let folder = project_folder(arguments.project.as_deref())?;
    let project = project_of(client, &folder).await?;
    let grants = match &project {
        Some(project) => client.grants(project.key.clone()).await?.grants,
        None => Vec::new(),
    };
    if arguments.json {
        for grant in &grants {
            out::json(grant)?;
        }
    } else if grants.is_empty() {
        out::note("nothing is allowed for good in this project; the answer `a` to a question does that");
    } else {
        out::print(&table(&grants))?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn revoke(client: &RpcClient, no: u64, folder: Option<&Path>) -> Result<ExitCode, CommandError> {
    let folder = project_folder(folder)?;
    let unknown = || CommandError::Argument {
        message: format!("there is no grant {no} in this project"),
        hint: "`plimsoll grants` lists them with their numbers".to_owned(),
    };
    let project = project_of(client, &folder).await?.ok_or_else(unknown)?;
    let grants = client.grants(project.key.clone()).await?.grants;
    let grant = grants.iter().find(|grant| grant.no == no).ok_or_else(unknown)?;
    client.revoke(project.key, no, None).await?;
    out::note(&format!("revoked: {}", out::harmless(&grant.rule, false)));
    Ok(ExitCode::SUCCESS)
}

/// Runs `plimsoll trust`.
pub fn trust(arguments: &args::Trust) -> ExitCode {
    connect::with_client(Spawn::WhenNone, async |client, _| {
        let folder = project_folder(arguments.folder.as_deref())?;
        let project = open_project(&client, &folder).await?;
        let project = client.trust(project.key, !arguments.revoke, None).await?;
        let word = if project.trusted { "trusted" } else { "not trusted" };
        out::note(&format!("{} is {word}", out::harmless(&folder.to_string_lossy(), false)));
        Ok(ExitCode::SUCCESS)
    })
}

/// The project of a folder: the one that it names, else the deepest that holds it. Asking the daemon to open it would make
/// one of every folder in which somebody looks.
pub async fn project_of(client: &RpcClient, folder: &Path) -> Result<Option<Project>, CommandError> {
    let projects = ProjectApiClient::list(client).await?.projects;
    let depth = |project: &Project| {
        let roots = project.roots.iter().map(|root| crate::rpc::path_from_wire(root));
        roots.filter(|root| folder.starts_with(root)).map(|root| root.components().count()).max()
    };
    Ok(projects
        .into_iter()
        .filter_map(|project| Some((depth(&project)?, project)))
        .max_by_key(|(depth, _)| *depth)
        .map(|(_, project)| project))
}

/// The table for people.
fn table(grants: &[Grant]) -> String {
    let width = grants.iter().map(|grant| grant.no.to_string().len()).max().unwrap_or(0);
    let mut text = String::new();
    for grant in grants {
        let at = Timestamp::from_millisecond(grant.at).unwrap_or_default().to_string();
        let day = at.split('T').next().unwrap_or_default();
        let rule = out::harmless(&grant.rule, false);
        let _ = writeln!(text, "{:>width$}  {day}  {rule}", grant.no);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_shows_number_day_and_the_whole_rule() {
        let grant = |no, rule: &str| Grant {
            no,
            rule: rule.to_owned(),
            at: 1_861_869_600_000,
            session: "s1".to_owned(),
            call: "c1".to_owned(),
        };
        let grants = [grant(2, "run_terminal_cmd(make *)"), grant(11, "read_file(/a\x1b[2Jb)")];
        let expected = " 2  2028-12-31  run_terminal_cmd(make *)\n11  2028-12-31  read_file(/a\u{fffd}[2Jb)\n";
        assert_eq!(table(&grants), expected);
    }
}
