//! How the finding of an operation comes about: by looking, by the user's word, by a later operation.

use super::{Finding, FoundBy, OpState, Operation, SeenFile, Verdict, judge};
use crate::id::Revision;
use crate::time::Timestamp;

/// What the user says of an operation whose end was not seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    /// It took effect.
    Applied,
    /// It did not.
    NotApplied,
    /// Whatever it did, it is taken as it is.
    Accepted,
}

impl Operation {
    /// The same operation after somebody has looked: with what its files say. One that is settled stays as it is.
    #[must_use]
    pub fn found(&self, by: FoundBy, seen: &[SeenFile], at: Timestamp, revision: Revision) -> Self {
        if !self.is_unsettled() {
            return self.clone();
        }
        let (verdict, files) = judge(self, seen);
        Self { finding: Some(Finding { verdict, by, at, revision, files, note: None }), ..self.clone() }
    }

    /// The same operation as the user settles it. One that is settled stays as it is.
    #[must_use]
    pub fn resolved(&self, resolution: Resolution, note: Option<String>, at: Timestamp, revision: Revision) -> Self {
        if !self.is_unsettled() {
            return self.clone();
        }
        let before = self.finding.as_ref();
        let verdict = match resolution {
            Resolution::Applied => Verdict::Applied,
            Resolution::NotApplied => Verdict::NotApplied,
            Resolution::Accepted => before.map_or(Verdict::CannotTell, |finding| finding.verdict),
        };
        let files = before.map(|finding| finding.files.clone()).unwrap_or_default();
        Self { finding: Some(Finding { verdict, by: FoundBy::User, at, revision, files, note }), ..self.clone() }
    }

    /// This operation, settled by a later one that found its files in a certain state before it changed them. None where
    /// that proves nothing.
    pub fn proven(&self, later: &Self) -> Option<Self> {
        if later.state != OpState::Succeeded || !self.is_unsettled() {
            return None;
        }
        let seen: Vec<SeenFile> = later
            .files
            .iter()
            .map(|file| SeenFile { path: file.path.clone(), version: Ok(file.before.clone()) })
            .collect();
        let settled = self.found(FoundBy::Later(later.call), &seen, later.at, later.revision);
        settled.is_settled().then_some(settled)
    }

    /// Whether a call that is about to do this would do again what the operation did: the same tool on the same files, or
    /// the same command in the same folder. `paths` are the files that it changes, in any order.
    pub fn is_repeated_by(&self, tool: &str, target: &str, command: Option<&str>, paths: &[&str]) -> bool {
        match (&self.command, command) {
            (Some(own), Some(other)) => own == other && self.target == target,
            (None, None) if self.tool == tool => {
                let mut own: Vec<&str> = self.files.iter().map(|file| file.path.as_str()).collect();
                let mut other = paths.to_vec();
                own.sort_unstable();
                other.sort_unstable();
                own == other && (!own.is_empty() || (self.target == target && !target.is_empty()))
            }
            (Some(_) | None, _) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{OperationFile, Stands};
    use super::*;
    use crate::id::{CallId, TurnNo};

    fn operation(call: u64, files: &[(&str, Option<&str>, Option<&str>)]) -> Operation {
        let file = |(path, before, after): &(&str, Option<&str>, Option<&str>)| OperationFile {
            path: (*path).to_owned(),
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
            mode: None,
            link: false,
        };
        Operation {
            call: CallId(call),
            turn: TurnNo(1),
            tool: "apply_patch".to_owned(),
            class: "write".to_owned(),
            target: files.first().map(|(path, ..)| (*path).to_owned()).unwrap_or_default(),
            command: None,
            state: OpState::Unknown,
            at: Timestamp(1),
            revision: Revision(3),
            files: files.iter().map(file).collect(),
            process: None,
            background: false,
            finding: None,
            repeats: 0,
        }
    }

    fn seen(path: &str, version: Result<Option<&str>, &str>) -> SeenFile {
        let version = version.map(|version| version.map(str::to_owned)).map_err(str::to_owned);
        SeenFile { path: path.to_owned(), version }
    }

    fn check(operation: &Operation, seen: &[SeenFile], verdict: Verdict, line: &str) -> Operation {
        let found = operation.found(FoundBy::Recovery, seen, Timestamp(2), Revision(4));
        assert_eq!(found.finding.as_ref().map(|finding| finding.verdict), Some(verdict));
        assert_eq!(found.is_settled(), verdict.decides());
        assert_eq!(found.state, OpState::Unknown, "its end was not seen, whatever is found out");
        assert_eq!(found.line(), line);
        found
    }

    #[test]
    fn what_the_files_say_is_found_and_told() {
        let two = operation(7, &[("/w/a", Some("a0"), Some("a1")), ("/w/b", None, Some("b1"))]);
        let one = operation(8, &[("/w/a", Some("a0"), None)]);
        check(
            &two,
            &[seen("/w/a", Ok(Some("a1"))), seen("/w/b", Ok(Some("b1")))],
            Verdict::Applied,
            "c7 apply_patch /w/a, /w/b: applied: each of its 2 files is as it was intended. Do not do it again",
        );
        check(
            &two,
            &[seen("/w/a", Ok(Some("a1"))), seen("/w/b", Ok(None))],
            Verdict::PartlyApplied,
            "c7 apply_patch /w/a, /w/b: partly applied: as intended /w/a; as before /w/b",
        );
        check(
            &two,
            &[seen("/w/a", Ok(Some("a1"))), seen("/w/b", Ok(Some("mine")))],
            Verdict::Changed,
            "c7 apply_patch /w/a, /w/b: changed by someone else: neither as before nor as intended /w/b",
        );
        check(
            &two,
            &[seen("/w/a", Ok(Some("a1"))), seen("/w/b", Err("permission denied"))],
            Verdict::CannotTell,
            "c7 apply_patch /w/a, /w/b: cannot tell: not readable /w/b",
        );
        check(
            &one,
            &[seen("/w/a", Ok(None))],
            Verdict::Applied,
            "c8 apply_patch /w/a: applied: the file is as it was intended (nothing is there). Do not do it again",
        );
        let not = check(
            &one,
            &[seen("/w/a", Ok(Some("a0")))],
            Verdict::NotApplied,
            "c8 apply_patch /w/a: not applied: the file is as it was before (version a0)",
        );
        let again = not.found(FoundBy::Inspection, &[seen("/w/a", Ok(None))], Timestamp(9), Revision(9));
        assert_eq!(again, not, "what is settled stays");
        assert_eq!(not.resolved(Resolution::Applied, None, Timestamp(9), Revision(9)), not);
    }

    #[test]
    fn the_users_word_settles() {
        let mut command = operation(3, &[]);
        (command.tool, command.command) = ("run_terminal_cmd".to_owned(), Some("make".to_owned()));
        let found = check(
            &command,
            &[],
            Verdict::CannotTell,
            "c3 run_terminal_cmd make: cannot tell whether, or how far, it took effect",
        );
        for (resolution, words) in [
            (Resolution::Applied, "applied, as the user says (I looked)"),
            (Resolution::NotApplied, "not applied, as the user says (I looked)"),
            (Resolution::Accepted, "the user has taken it as it is (I looked)"),
        ] {
            let settled = found.resolved(resolution, Some("I looked".to_owned()), Timestamp(5), Revision(5));
            assert!(settled.is_settled() && settled.state == OpState::Unknown);
            assert_eq!(settled.standing(), words);
        }
    }

    #[test]
    fn a_later_operation_proves_what_it_found_before_it() {
        let early = operation(1, &[("/w/a", Some("a0"), Some("a1"))]);
        let later = |before, state| Operation { state, ..operation(2, &[("/w/a", before, Some("a2"))]) };
        let proven = |before| early.proven(&later(before, OpState::Succeeded));
        let settled = proven(Some("a1")).unwrap();
        let finding = settled.finding.unwrap();
        assert_eq!((finding.verdict, finding.by), (Verdict::Applied, FoundBy::Later(CallId(2))));
        assert_eq!(finding.files.iter().map(|file| file.stands).collect::<Vec<_>>(), [Stands::After]);
        assert_eq!(proven(Some("a0")).unwrap().finding.unwrap().verdict, Verdict::NotApplied);
        assert_eq!((proven(Some("mine")), proven(None)), (None, None));
        assert_eq!(early.proven(&later(Some("a1"), OpState::Unknown)), None, "only what has happened proves anything");
        let two = operation(1, &[("/w/a", Some("a0"), Some("a1")), ("/w/b", None, Some("b1"))]);
        assert_eq!(two.proven(&later(Some("a1"), OpState::Succeeded)), None, "the other file was not seen");
    }

    #[test]
    fn the_same_is_the_same_tool_on_the_same_files_or_the_same_command_in_the_same_folder() {
        let two = operation(1, &[("/w/a", None, Some("a1")), ("/w/b", None, Some("b1"))]);
        let repeats = |tool: &str, paths: &[&str]| two.is_repeated_by(tool, "/w/a", None, paths);
        assert!(repeats("apply_patch", &["/w/b", "/w/a"]));
        assert!(!repeats("apply_patch", &["/w/a"]) && !repeats("write", &["/w/a", "/w/b"]));
        let mut command = operation(3, &[]);
        (command.target, command.command) = ("/w".to_owned(), Some("make".to_owned()));
        let repeats = |target: &str, line: &str| command.is_repeated_by("run_terminal_cmd", target, Some(line), &[]);
        assert!(repeats("/w", "make"));
        assert!(!repeats("/w/sub", "make") && !repeats("/w", "make install"));
        assert!(!command.is_repeated_by("run_terminal_cmd", "/w", None, &[]));
        let mut memory = operation(4, &[]);
        memory.target = "/m/m1.md".to_owned();
        assert!(memory.is_repeated_by("apply_patch", "/m/m1.md", None, &[]));
        memory.target.clear();
        assert!(!memory.is_repeated_by("apply_patch", "", None, &[]), "nothing is known of it");
    }
}
