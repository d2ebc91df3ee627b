//! Random batches and restarts at random points: everything is read back as it was written.

use super::*;
use plimsoll_core::transcript::batch::SessionState;
use proptest::prelude::*;
use std::collections::BTreeMap;

#[derive(Debug, Clone)]
enum Step {
    Commit {
        session: usize,
        items: Vec<(u8, String)>,
        events: usize,
        epoch: bool,
        request: bool,
        operation: Option<u8>,
    },
    Close,
    Crash,
}

fn step() -> impl Strategy<Value = Step> {
    let commit = (
        0..3_usize,
        proptest::collection::vec((0..3_u8, "[a-z#\n\u{e4} ]{0,400}"), 0..4),
        0..4_usize,
        proptest::bool::weighted(0.2),
        proptest::bool::weighted(0.6),
        proptest::option::of(0..8_u8),
    )
        .prop_map(|(session, items, events, epoch, request, operation)| Step::Commit {
            session,
            items,
            events,
            epoch,
            request,
            operation,
        });
    prop_oneof![8 => commit, 1 => Just(Step::Close), 1 => Just(Step::Crash)]
}

/// What a session should hold.
#[derive(Default)]
struct Model {
    items: Vec<Item>,
    projections: BTreeMap<u64, StoredProjection>,
    events: Vec<Event>,
    epoch: Option<Epoch>,
    sent: Vec<Segment>,
    requests: Vec<RequestRow>,
    bodies: Vec<Vec<String>>,
    operations: BTreeMap<CallId, Operation>,
    epochs: u64,
}

impl Model {
    fn batch(
        &mut self,
        items: &[(u8, String)],
        events: usize,
        epoch_due: bool,
        request_due: bool,
        op: Option<u8>,
    ) -> Batch {
        let mut batch = Batch { state: Some(SessionState::Running), ..Batch::default() };
        for (kind, text) in items {
            let no = self.items.len() as u64 + 1;
            let item = match kind {
                0 => user(no, text),
                1 => assistant(no, text),
                _ => {
                    let shown = projection(no, text);
                    self.projections.insert(no, shown.clone());
                    batch.projections.push(shown);
                    result(no, no, Body::Text(text.repeat(3)))
                }
            };
            self.items.push(item.clone());
            batch.items.push(item);
        }
        for _ in 0..events {
            let event = added(self.events.len() as u64 + 1, self.items.len() as u64);
            self.events.push(event.clone());
            batch.events.push(event);
        }
        if let Some(op) = op {
            let state =
                [OpState::Proposed, OpState::Running, OpState::Unknown, OpState::Succeeded][usize::from(op) % 4];
            let operation = operation(u64::from(op) / 2 + 1, state);
            self.operations.insert(operation.call, operation.clone());
            batch.operations.push(operation);
        }
        if epoch_due || (request_due && self.epoch.is_none()) {
            self.epochs += 1;
            let new = epoch(self.epochs, self.items.len() as u64 + 1);
            self.epoch = Some(new.clone());
            self.sent.clear();
            batch.epoch = Some(new);
        }
        if let (true, Some(epoch)) = (request_due, &self.epoch) {
            let no = self.requests.len() as u64 + 1;
            let row = request(no, epoch, &self.sent, &[&format!("m{no}"), "same"], self.items.len() as u64);
            self.sent.extend(row.tail.iter().cloned());
            self.bodies.push(self.sent.iter().map(|segment| segment.text.to_string()).collect());
            self.requests.push(row.clone());
            batch.request = Some(row);
        }
        batch
    }

    async fn check(&self, project: &ProjectStore, id: &SessionId) {
        let all = project.view_items_at(id, ItemNo(1), ItemNo(u64::MAX)).await.unwrap();
        assert_eq!(all.iter().map(|view| view.item.clone()).collect::<Vec<_>>(), self.items);
        let projections: BTreeMap<u64, StoredProjection> =
            all.into_iter().filter_map(|view| view.projection).map(|shown| (shown.call.0, shown)).collect();
        assert_eq!(projections, self.projections);
        let events = project.events(id, Seq(0), 9999).await.unwrap();
        assert_eq!(events.iter().map(|found| found.event.clone()).collect::<Vec<_>>(), self.events);
        let operations: Vec<Operation> = self.operations.values().cloned().collect();
        assert_eq!(project.operations(id, false).await.unwrap(), operations);
        let view = project.load_view(id).await.unwrap();
        assert_eq!(view.epoch, self.epoch);
        assert_eq!(view.messages, self.sent);
        let in_epoch =
            self.requests.last().filter(|last| Some(last.epoch) == self.epoch.as_ref().map(|epoch| epoch.no));
        if in_epoch.is_some() {
            assert_eq!((view.last_request.as_ref(), view.carried.len()), (in_epoch, 0));
        } else {
            // All epochs have the same wire: one without a request keeps what was sent before it.
            assert_eq!(view.last_request.as_ref(), self.requests.last());
            let kept: Vec<String> = texts(&view.carried).into_iter().map(str::to_owned).collect();
            assert_eq!(kept, self.bodies.last().cloned().unwrap_or_default());
        }
        let open: Vec<Operation> =
            self.operations.values().filter(|operation| !operation.state.is_settled()).cloned().collect();
        assert_eq!(view.operations, open);
        for (row, expected) in self.requests.iter().zip(&self.bodies) {
            let body = project.request_body_segments(id, row.no).await.unwrap();
            let preamble = body.epoch.preamble.len();
            assert_eq!(&body.request, row);
            assert_eq!(&texts(&body.messages)[preamble..], expected.iter().map(String::as_str).collect::<Vec<_>>());
        }
        project.settle_mirror(id).await.unwrap();
        let path = project.session_folder(id).join("transcript.txt");
        let mirror = std::fs::read_to_string(&path).unwrap();
        let expected: String =
            self.items.iter().map(|item| plimsoll_core::transcript::mirror::render(item, None)).collect();
        assert_eq!(mirror, expected);
    }
}

async fn run(steps: Vec<Step>) {
    let mut place = Place::new().await;
    let mut models: Vec<Model> = (0..3).map(|_| Model::default()).collect();
    let ids: Vec<SessionId> = (0..3).map(|no| session_id(&format!("s{no}"))).collect();
    let mut project = place.project().await;
    for id in &ids {
        project.create_session(new_session(id.as_str())).await.unwrap();
    }
    for step in steps {
        match step {
            Step::Commit { session, items, events, epoch, request, operation } => {
                let batch = models[session].batch(&items, events, epoch, request, operation);
                project.commit(&ids[session], batch).await.unwrap();
            }
            Step::Close => {
                drop(project);
                place.restart().await;
                project = place.project().await;
            }
            Step::Crash => {
                drop(project);
                place = place.crash().await;
                project = place.project().await;
            }
        }
    }
    for (model, id) in models.iter().zip(&ids) {
        model.check(&project, id).await;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn everything_is_read_back_as_it_was_written(steps in proptest::collection::vec(step(), 1..25)) {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(run(steps));
    }
}
