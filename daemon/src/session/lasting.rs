//! What a user decided for a project for good, as its sessions see it: read once, written through, followed by all of them.

use super::driver::{Driver, now};
use crate::store::{LastingGrant, StoreError, Stores};
use plimsoll_core::id::{CallId, ProjectKey, SessionId};
use plimsoll_core::permission::rule::{Matcher, Rule, Scope, Verdict};
use plimsoll_core::time::Timestamp;
use tokio::sync::{Mutex, watch};

/// See the module's head. One per project.
pub(super) struct Lasting {
    project: ProjectKey,
    stores: Stores,
    known: watch::Sender<Known>,
    /// Held while something is written and read back, so that what is known is never older than what was written.
    writing: Mutex<()>,
}

/// What holds now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) rules: Vec<Rule>,
    pub(super) trusted: bool,
}

impl Lasting {
    pub(super) async fn load(project: ProjectKey, stores: Stores) -> Result<Self, StoreError> {
        let lasting = Self { project, stores, known: watch::Sender::default(), writing: Mutex::default() };
        lasting.read_back().await?;
        Ok(lasting)
    }

    /// What holds now.
    pub(super) fn known(&self) -> Known {
        self.known.borrow().clone()
    }

    /// Tells of every change from now on.
    pub(super) fn follow(&self) -> watch::Receiver<Known> {
        self.known.subscribe()
    }

    /// Keeps rules that the answer to the question about this call allowed.
    pub(super) async fn keep(
        &self,
        rules: &[Rule],
        session: &SessionId,
        call: CallId,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let _writing = self.writing.lock().await;
        let texts = rules.iter().map(|rule| rule.matcher.to_string()).collect();
        self.stores.keep_grants(&self.project, texts, now, session, call).await?;
        self.read_back().await
    }

    /// Everything that was kept, oldest first.
    pub(super) async fn list(&self) -> Result<Vec<LastingGrant>, StoreError> {
        self.stores.lasting_grants(&self.project).await
    }

    /// Forgets one; what runs in the project's sessions is asked about again from its next call on.
    pub(super) async fn forget(&self, no: u64) -> Result<(), StoreError> {
        let _writing = self.writing.lock().await;
        self.stores.forget_grant(&self.project, no).await?;
        self.read_back().await
    }

    /// Notes whether the user trusts the project.
    pub(super) async fn trust(&self, trusted: bool) -> Result<(), StoreError> {
        let _writing = self.writing.lock().await;
        self.stores.set_trusted(&self.project, trusted).await?;
        self.read_back().await
    }

    /// The project's roots are others: whether it is still trusted was decided with them.
    pub(super) async fn roots_changed(&self) -> Result<(), StoreError> {
        let _writing = self.writing.lock().await;
        self.read_back().await
    }

    async fn read_back(&self) -> Result<(), StoreError> {
        let grants = self.stores.lasting_grants(&self.project).await?;
        let trusted = self.stores.is_trusted(&self.project).await?;
        let rules = grants.iter().filter_map(rule).collect();
        self.known.send_replace(Known { rules, trusted });
        Ok(())
    }
}

impl Driver {
    /// Keeps what the user allowed for good. When that fails it holds for the running turn only, and is asked again later.
    pub(super) async fn grant(&mut self, call: CallId, rules: &[Rule]) {
        if let Err(error) = self.project.lasting.keep(rules, &self.id, call, now()).await {
            tracing::error!(session = %self.id, %call, %error, "a grant could not be kept");
        }
    }

    /// The running turn goes on with what is decided with now.
    pub(super) fn set_policy(&mut self) {
        self.decided.mark_unchanged();
        if let (Some(machine), Some(turn)) = (&mut self.machine, &self.running) {
            machine.set_policy(self.project.policy(turn));
        }
    }
}

fn rule(grant: &LastingGrant) -> Option<Rule> {
    let Ok(matcher) = grant.rule.parse::<Matcher>() else {
        // A newer version may have written it.
        tracing::warn!(no = grant.no, "a stored grant is no rule of this build; it is not used");
        return None;
    };
    Some(Rule { verdict: Verdict::Allow, scope: Scope::Project, matcher })
}
