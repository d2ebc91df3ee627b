//! Which files operations are known to have changed.

use super::{OpState, Operation, OperationFile, Stands, Verdict};

/// Canonical paths of the files that this operation is known to have changed. Of a command no files are known.
pub fn changed_files(operation: &Operation) -> impl Iterator<Item = &str> {
    let took_effect = |file: &OperationFile| match operation.state {
        OpState::Succeeded => file.before != file.after,
        OpState::Unknown => operation.finding.as_ref().is_some_and(|finding| match finding.verdict {
            Verdict::Applied => file.before != file.after,
            Verdict::PartlyApplied => {
                finding.files.iter().any(|found| found.path == file.path && found.stands == Stands::After)
            }
            Verdict::NotApplied | Verdict::Changed | Verdict::CannotTell => false,
        }),
        OpState::Proposed
        | OpState::Denied
        | OpState::Approved
        | OpState::Running
        | OpState::Failed
        | OpState::Cancelled => false,
    };
    operation.files.iter().filter(move |file| took_effect(file)).map(|file| file.path.as_str())
}

#[cfg(test)]
mod tests {
    use super::super::{FileFinding, Finding, FoundBy};
    use super::*;
    use crate::id::{CallId, Revision, TurnNo};
    use crate::time::Timestamp;

    fn operation(state: OpState, finding: Option<(Verdict, [Stands; 2])>) -> Operation {
        let file = |path: &str, before: Option<&str>, after: Option<&str>| OperationFile {
            path: path.to_owned(),
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
            mode: None,
            link: false,
        };
        let paths = ["/w/a", "/w/b"];
        Operation {
            call: CallId(1),
            turn: TurnNo(1),
            tool: "apply_patch".into(),
            class: "write".into(),
            target: "/w/a".into(),
            command: None,
            state,
            at: Timestamp(0),
            revision: Revision(1),
            files: vec![
                file("/w/a", Some("1"), Some("2")),
                file("/w/b", None, Some("3")),
                file("/w/c", Some("4"), Some("4")),
            ],
            process: None,
            background: false,
            finding: finding.map(|(verdict, stands)| Finding {
                verdict,
                by: FoundBy::Recovery,
                at: Timestamp(0),
                revision: Revision(1),
                files: paths
                    .iter()
                    .zip(stands)
                    .map(|(path, stands)| FileFinding { path: (*path).to_owned(), stands, version: None })
                    .collect(),
                note: None,
            }),
            repeats: 0,
        }
    }

    #[test]
    fn what_took_effect_is_named_and_nothing_else() {
        let of = |state, finding| changed_files(&operation(state, finding)).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(of(OpState::Succeeded, None), ["/w/a", "/w/b"]);
        assert_eq!(of(OpState::Failed, None), Vec::<String>::new());
        assert_eq!(of(OpState::Unknown, None), Vec::<String>::new());
        let found = |verdict, stands| of(OpState::Unknown, Some((verdict, stands)));
        assert_eq!(found(Verdict::Applied, [Stands::After, Stands::After]), ["/w/a", "/w/b"]);
        assert_eq!(found(Verdict::PartlyApplied, [Stands::Before, Stands::After]), ["/w/b"]);
        assert_eq!(found(Verdict::NotApplied, [Stands::Before, Stands::Before]), Vec::<String>::new());
        assert_eq!(found(Verdict::Changed, [Stands::Other, Stands::After]), Vec::<String>::new());
    }
}
