//! `plimsoll memories`: what is remembered over sessions, shown and forgotten by its user.

use super::connect::{self, CommandError};
use super::permissions::project_of;
use super::reach::Spawn;
use super::sessions::project_folder;
use super::{args, out};
use crate::rpc::client::RpcClient;
use jiff::Timestamp;
use plimsoll_protocol::memory::{Memory, MemoryApiClient};
use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

/// Runs `plimsoll memories`.
pub fn run(arguments: &args::Memories) -> ExitCode {
    connect::with_client(Spawn::WhenNone, async |client, _| match &arguments.action {
        None => list(&client, None, false).await,
        Some(args::MemoriesAction::List { project, json }) => list(&client, project.as_deref(), *json).await,
        Some(args::MemoriesAction::Show { id, project }) => show(&client, id, project.as_deref()).await,
        Some(args::MemoriesAction::Delete { id, project }) => delete(&client, id, project.as_deref()).await,
    })
}

/// The key of the folder's project, and what is remembered there.
async fn of_folder(client: &RpcClient, folder: Option<&Path>) -> Result<Option<(String, Vec<Memory>)>, CommandError> {
    let Some(project) = project_of(client, &project_folder(folder)?).await? else { return Ok(None) };
    let memories = MemoryApiClient::list(client, project.key.clone()).await?.memories;
    Ok(Some((project.key, memories)))
}

async fn find(client: &RpcClient, id: &str, folder: Option<&Path>) -> Result<(String, Memory), CommandError> {
    let found = of_folder(client, folder).await?.and_then(|(project, memories)| {
        let memory = memories.into_iter().find(|memory| memory.id == id)?;
        Some((project, memory))
    });
    found.ok_or_else(|| CommandError::Argument {
        message: format!("there is no memory `{}` in this project", out::harmless(id, false)),
        hint: "`plimsoll memories list` names them".to_owned(),
    })
}

async fn list(client: &RpcClient, folder: Option<&Path>, json: bool) -> Result<ExitCode, CommandError> {
    let memories = of_folder(client, folder).await?.map(|(_, memories)| memories).unwrap_or_default();
    if json {
        for memory in &memories {
            out::json(memory)?;
        }
    } else if memories.is_empty() {
        out::note("nothing is remembered for this project or for you");
    } else {
        out::print(&table(&memories))?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn show(client: &RpcClient, id: &str, folder: Option<&Path>) -> Result<ExitCode, CommandError> {
    let (_, memory) = find(client, id, folder).await?;
    let path = crate::rpc::path_from_wire(&memory.path);
    let text = std::fs::read_to_string(&path).map_err(|error| CommandError::Argument {
        message: format!("{} cannot be read: {error}", path.display()),
        hint: "`plimsoll restart` makes the files of memories anew".to_owned(),
    })?;
    out::print(&out::harmless(&text, true))?;
    Ok(ExitCode::SUCCESS)
}

async fn delete(client: &RpcClient, id: &str, folder: Option<&Path>) -> Result<ExitCode, CommandError> {
    let (project, memory) = find(client, id, folder).await?;
    MemoryApiClient::delete(client, project, memory.id, None).await?;
    out::note(&format!("forgotten: {}", out::harmless(&memory.title, false)));
    Ok(ExitCode::SUCCESS)
}

/// The table for people.
fn table(memories: &[Memory]) -> String {
    let width = memories.iter().map(|memory| memory.id.len()).max().unwrap_or(0);
    let mut text = String::new();
    for memory in memories {
        let at = Timestamp::from_millisecond(memory.updated_at).unwrap_or_default().to_string();
        let day = at.split('T').next().unwrap_or_default();
        let _ = writeln!(text, "{:<width$}  {day}  {}", memory.id, out::harmless(&memory.title, false));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_shows_id_day_and_title() {
        let memory = |id: &str, title: &str| Memory {
            id: id.to_owned(),
            title: title.to_owned(),
            path: String::new(),
            created_at: 0,
            updated_at: 1_861_869_600_000,
            session: Some("s1".to_owned()),
            item: Some(3),
        };
        let expected = "m12  2028-12-31  Use pnpm\nu1   2028-12-31  \u{fffd}[2Jx\n";
        assert_eq!(table(&[memory("m12", "Use pnpm"), memory("u1", "\x1b[2Jx")]), expected);
    }
}
