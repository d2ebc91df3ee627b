//! The task of a session, and what it rests on: words of the user, results, and what calls have done. As SQL.

use super::read::{ITEM, Reader};
use super::write::Sql;
use super::{ProjectStore, StoreError};
use plimsoll_core::id::{CallId, EvidenceId, ItemNo, Revision, SessionId};
use plimsoll_core::ledger::{OpState, Operation, Verdict};
use plimsoll_core::task::Task;
use plimsoll_core::task::deed::Deed;
use plimsoll_core::task::quote;
use plimsoll_core::tool::args;
use plimsoll_core::tool::name::normalise;
use plimsoll_core::tool::outcome::{Body, Status};
use plimsoll_core::tool::spec::Class;
use plimsoll_core::transcript::batch::StoredProjection;
use plimsoll_core::transcript::codec::RECORD_VERSION;
use plimsoll_core::transcript::item::{ItemBody, ToolResult};
use rusqlite::params;
use std::collections::{BTreeMap, BTreeSet};

/// What a task cites, looked up.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Cited {
    /// Evidence that does not resolve, with why.
    pub unresolved: Vec<(EvidenceId, String)>,
    /// For each quote, the user's message that holds it.
    pub items: Vec<Option<ItemNo>>,
    /// What the session's calls have done, when that was asked for.
    pub deeds: Vec<Deed>,
}

/// A result, as evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// Its item.
    pub item: ItemNo,
    /// The tool.
    pub tool: String,
    /// How the call ended.
    pub status: Status,
    /// The project's revision when it ended.
    pub revision: Revision,
    /// What the model was shown, with the files and their versions.
    pub projection: Option<StoredProjection>,
}

impl Sql<'_> {
    /// Writes the task, in its stored form, in the place of the one before.
    pub(super) fn put_task(&self, sid: i64, body: &str) -> Result<(), StoreError> {
        self.execute(
            "INSERT INTO task (sid, version, body) VALUES (?1, ?2, ?3) \
             ON CONFLICT (sid) DO UPDATE SET version = ?2, body = ?3",
            params![sid, RECORD_VERSION, body],
        )?;
        Ok(())
    }

    /// Gives a fork what holds there of the task as it stands.
    pub(super) fn share_task(
        &self,
        reader: &Reader<'_>,
        (from, to): (i64, i64),
        last: ItemNo,
        calls: &BTreeSet<CallId>,
    ) -> Result<(), StoreError> {
        let Some(task) = reader.task(from)? else { return Ok(()) };
        let body = plimsoll_core::transcript::codec::encode_record("task", &task.shared(last, calls));
        self.put_task(to, &body.map_err(|source| self.codec(source))?)
    }
}

impl Reader<'_> {
    /// The task; none where there never was one.
    pub(super) fn task(&self, sid: i64) -> Result<Option<Task>, StoreError> {
        let found = self.rows("SELECT version, body FROM task WHERE sid = ?1", [sid], |row| {
            Ok(self.record("task", row.get(0)?, row.get_ref(1)?.as_str()?))
        })?;
        Ok(found.into_iter().next())
    }

    /// What the user said that the model sees, oldest first.
    fn said(&self, sid: i64) -> Result<Vec<(ItemNo, String)>, StoreError> {
        let out = self.out_of_view(sid)?;
        let items = self.rows(
            &format!("SELECT {ITEM} FROM item WHERE sid = ?1 AND kind = 'user' ORDER BY no"),
            [sid],
            |row| self.item_row(row),
        )?;
        let said = items.into_iter().filter(|item| !out.contains(item.no)).filter_map(|item| match item.body {
            ItemBody::User(message) => Some((item.no, message.text)),
            _ => None,
        });
        Ok(said.collect())
    }

    fn unresolved(&self, sid: i64, id: EvidenceId) -> Result<Option<String>, StoreError> {
        let call = id.call;
        Ok(match self.result(sid, call)?.map(|item| item.body) {
            Some(ItemBody::ToolResult(result)) if result.revision == id.revision => None,
            Some(ItemBody::ToolResult(result)) => {
                Some(format!("the result of {call} is of {}; cite e/{call}@{}", result.revision, result.revision))
            }
            Some(_) | None => Some(format!("there is no result of {call} in this session")),
        })
    }

    /// What calls have done, by the transcript: a fork has it of the calls that it shares, too.
    fn deeds(&self, sid: i64) -> Result<Vec<Deed>, StoreError> {
        let operations: BTreeMap<CallId, Operation> =
            self.operations(sid, false)?.into_iter().map(|operation| (operation.call, operation)).collect();
        let calls: Vec<(ItemNo, String, String, CallId)> = self
            .rows(
                &format!("SELECT {ITEM} FROM item WHERE sid = ?1 AND kind = 'tool_call' ORDER BY no"),
                [sid],
                |row| self.item_row(row),
            )?
            .into_iter()
            .filter_map(|item| match item.body {
                ItemBody::ToolCall(call) => Some((item.no, call.tool, call.arguments, call.call)),
                _ => None,
            })
            .collect();
        let mut deeds = Vec::new();
        for (item, tool, arguments, call) in calls {
            let Some(spec) = normalise(&tool).filter(|spec| is_deed(spec.class)) else { continue };
            let Some(ItemBody::ToolResult(result)) = self.result(sid, call)?.map(|item| item.body) else { continue };
            let operation = operations.get(&call);
            let command = args::parse(&arguments, spec.schema)
                .ok()
                .and_then(|args| Some(args.get("command")?.as_str()?.to_owned()))
                .or_else(|| operation.and_then(|operation| operation.command.clone()));
            deeds.push(deed(item, spec.name, command, &result, operation));
        }
        Ok(deeds)
    }

    fn evidence(&self, sid: i64, call: CallId) -> Result<Option<Shown>, StoreError> {
        let Some(item) = self.result(sid, call)? else { return Ok(None) };
        let ItemBody::ToolResult(result) = item.body else { return Ok(None) };
        Ok(Some(Shown {
            item: item.no,
            tool: result.tool,
            status: result.outcome.status,
            revision: result.revision,
            projection: self.projection(sid, call)?,
        }))
    }
}

fn is_deed(class: Class) -> bool {
    matches!(class, Class::Write | Class::Execute | Class::Network)
}

/// One call with its result.
fn deed(item: ItemNo, tool: &str, command: Option<String>, result: &ToolResult, operation: Option<&Operation>) -> Deed {
    let edited: Vec<String> = match &result.outcome.body {
        Body::Edit(edited) => edited.files.iter().map(|file| file.change.path.clone()).collect(),
        _ => Vec::new(),
    };
    let found = operation.and_then(|operation| operation.finding.as_ref()).map(|finding| finding.verdict);
    let applied = matches!(found, Some(Verdict::Applied | Verdict::PartlyApplied | Verdict::Changed));
    let named = operation.map(|operation| operation.files.iter().map(|file| file.path.clone()).collect());
    let paths = if edited.is_empty() { named.unwrap_or_default() } else { edited.clone() };
    let unknown = operation.is_some_and(|operation| operation.state == OpState::Unknown);
    let moved = operation.is_some_and(|operation| result.revision > operation.revision) && command.is_some();
    Deed {
        item,
        call: result.call,
        tool: tool.to_owned(),
        took_effect: result.outcome.status == Status::Ok || unknown && applied,
        changed: !edited.is_empty() && result.outcome.status == Status::Ok
            || unknown && found != Some(Verdict::NotApplied)
            || moved,
        command,
        paths,
    }
}

#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "a method of a type with a lifetime is not general enough"
)]
impl ProjectStore {
    /// The task of a session; none where there never was one.
    pub async fn task(&self, id: &SessionId) -> Result<Option<Task>, StoreError> {
        self.read(id, |reader, sid| reader.task(sid)).await
    }

    /// Looks up what a task cites; with `deeds` also what the session's calls have done, for which all of them are read.
    pub async fn cited(
        &self,
        id: &SessionId,
        evidence: Vec<EvidenceId>,
        quotes: Vec<(String, Option<ItemNo>)>,
        deeds: bool,
    ) -> Result<Cited, StoreError> {
        self.read(id, move |reader, sid| {
            let mut cited = Cited::default();
            for id in evidence {
                cited.unresolved.extend(reader.unresolved(sid, id)?.map(|why| (id, why)));
            }
            if !quotes.is_empty() {
                let said = reader.said(sid)?;
                cited.items = quotes.iter().map(|(quote, item)| quote::find(&said, quote, *item)).collect();
            }
            if deeds {
                cited.deeds = reader.deeds(sid)?;
            }
            Ok(cited)
        })
        .await
    }

    /// The result of a call, as evidence; none where there is none.
    pub async fn evidence(&self, id: &SessionId, call: CallId) -> Result<Option<Shown>, StoreError> {
        self.read(id, move |reader, sid| reader.evidence(sid, call)).await
    }
}
