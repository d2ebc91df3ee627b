//! What a test run says, and of which revision.

use crate::event::Verified;
use crate::id::{CallId, Revision};
use crate::time::Timestamp;
use crate::tool::test_report::TestRun;
use serde::{Deserialize, Serialize};

/// The last test run of a session. It speaks of one revision only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verification {
    /// The call.
    pub call: CallId,
    /// The command that ran.
    pub command: String,
    /// Whether the command ended well and no test failed.
    pub passed: bool,
    /// The revision when it began, with what was pending then applied.
    pub before: Revision,
    /// The revision when it had ended; more than `before` when files changed meanwhile.
    pub after: Revision,
    /// Somebody else changed files while it ran: it says nothing of any revision.
    pub void: bool,
    /// It was limited by `target`: it says nothing of the other tests.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// When it ended.
    pub at: Timestamp,
}

impl Verification {
    /// What a run that ended at `at` shows; none of one that did not come to its end, which leaves what was known before.
    pub fn of(call: CallId, run: &TestRun, at: Timestamp) -> Option<Self> {
        run.is_over().then(|| Self {
            call,
            command: run.run.command.clone(),
            passed: run.passed(),
            before: run.before,
            after: run.after,
            void: run.void.is_some(),
            partial: run.limit().is_some(),
            at,
        })
    }

    /// The same beside the revision of now.
    pub fn beside(&self, now: Revision) -> Verified {
        let (passed, current) = (self.passed && !self.void, !self.void && self.after == now);
        Verified { call: self.call, passed, revision: self.after, current, partial: self.partial }
    }

    /// Whether all tests passed on this revision, undisturbed.
    pub fn holds_for(&self, revision: Revision) -> bool {
        self.passed && !self.void && !self.partial && self.after == revision
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::outcome::Exit;
    use crate::tool::test_report::{TestReport, tests::run};

    fn of(code: i32, void: Option<&str>) -> Verification {
        let report = Some(TestReport { passed: 3, ..TestReport::default() });
        let run = TestRun { report, void: void.map(str::to_owned), ..run(code) };
        Verification::of(CallId(7), &run, Timestamp(1)).unwrap()
    }

    #[test]
    fn a_run_speaks_of_the_revision_at_its_end_and_of_no_other() {
        let passed = of(0, None);
        assert_eq!([41, 42, 43].map(|no| passed.holds_for(Revision(no))), [false, true, false]);
        let beside = |verification: &Verification, no: u64| {
            let Verified { passed, current, .. } = verification.beside(Revision(no));
            (passed, current)
        };
        assert_eq!((beside(&passed, 42), beside(&passed, 43)), ((true, true), (true, false)));
        let failed = of(1, None);
        assert_eq!((failed.holds_for(Revision(42)), beside(&failed, 42)), (false, (false, true)));
        let void = of(0, Some("a.rs changed meanwhile"));
        assert_eq!((void.holds_for(Revision(42)), beside(&void, 42)), (false, (false, false)));
    }

    #[test]
    fn a_run_of_some_tests_is_no_proof_of_all() {
        let limited = |target: &str| {
            let run = TestRun { target: Some(target.to_owned()), ..run(0) };
            let verification = Verification::of(CallId(7), &run, Timestamp(1)).unwrap();
            (verification.partial, verification.beside(Revision(42)).partial, verification.holds_for(Revision(42)))
        };
        assert_eq!(limited("tests/a.rs"), (true, true, false));
        assert_eq!([limited(" "), limited(".")], [(false, false, true); 2]);
        let stored = serde_json::to_value(of(0, None)).unwrap();
        assert_eq!(serde_json::from_value::<Verification>(stored).unwrap(), of(0, None));
    }

    #[test]
    fn a_run_without_an_end_leaves_what_was_known() {
        let mut interrupted = run(0);
        interrupted.run.exit = Exit::Cancelled;
        assert_eq!(Verification::of(CallId(7), &interrupted, Timestamp(1)), None);
        interrupted.run.exit = Exit::TimedOut;
        assert!(!Verification::of(CallId(7), &interrupted, Timestamp(1)).unwrap().passed);
    }
}
