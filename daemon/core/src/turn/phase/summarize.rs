//! A summary, written beside the conversation: on its prefix, or in calls that stand alone. What a model gives is checked,
//! asked for once more, and in the end the record alone has to do.

use super::super::compacting::{Candidate, Reads, Written};
use super::super::effect::{Effect, SideCall};
use super::super::machine::Machine;
use crate::compaction::costs::Costs;
use crate::compaction::history::History;
use crate::compaction::plan::{unsummarised, with_summary};
use crate::compaction::summary::ask::{self, Piece};
use crate::compaction::summary::{Against, Covers, Facts, Host, TurnLine, accept, from_store, pieces};
use crate::context::view::side::Start;
use crate::id::{CallId, ItemNo, SideNo, TurnNo};
use crate::model::catalog::ModelProfile;
use crate::model::error::ModelError;
use crate::model::event::{BlockContent, ModelEvent};
use crate::model::request::{AssistantBlock, Message};
use crate::model::usage::Usage;
use crate::tokens::tokens;
use crate::tool::outcome::TodoStatus;
use crate::tool::spec::SPECS;
use crate::transcript::epoch::{CompactionCause, SummarySource};
use crate::transcript::item::Item;
use crate::transcript::shape::{Shape, Summary, Through};
use crate::transcript::short::turn_line;
use crate::transcript::side::SideEnd;
use std::collections::{BTreeMap, VecDeque};

/// Files that a summary names; those that the model saw last.
const FILES: usize = 60;

/// Per cent of the window that the originals of turns shown in short may take in a request on the prefix.
const ORIGINALS_PERCENT: u64 = 20;

/// A summary that is being written.
#[derive(Debug, Clone)]
pub(in crate::turn) struct Writing {
    no: SideNo,
    source: SummarySource,
    facts: Facts,
    host: Host,
    through: Through,
    last_item: ItemNo,
    after: Option<Through>,
    /// Tokens of what it takes the place of.
    replaces: u64,
    focus: Option<String>,
    start: Start,
    /// What was said beside the conversation so far, by us and by the model.
    said: Vec<Message>,
    /// Estimated tokens that may be said there in all.
    room: u64,
    /// Records that are still to be given to calls that stand alone, and how many there are in all.
    records: VecDeque<String>,
    parts: usize,
    /// What it must not repeat.
    instruction: String,
    repaired: bool,
    done: BTreeMap<u32, BlockContent>,
    usage: Option<Usage>,
}

impl Machine {
    /// The model that writes summaries, and whether it is another than the session's.
    fn summary_model(&self) -> (ModelProfile, bool) {
        match &self.settings.compaction.summary_model {
            Some(model) if **model != self.settings.model => (ModelProfile::clone(model), true),
            Some(_) | None => (self.settings.model.clone(), false),
        }
    }

    /// Prepares a summary of what the view shows in short, or will be asked to, when there is enough of it.
    pub(super) fn prepare(&mut self, history: &History) {
        let shape = self.view.shape();
        self.prepare_for(history, &shape);
    }

    /// The same for a shape that the view is about to have. What it shortens still stands in full in the last request: on that
    /// prefix the provider reads it from its cache, and the next switch finds the summary ready.
    pub(super) fn prepare_for(&mut self, history: &History, shape: &Shape) {
        let idle = self.compacting.writing.is_none() && self.compacting.candidate.is_none();
        if !idle || !self.may_prepare() {
            return;
        }
        let told = shape.summary.as_ref().map(|summary| summary.through);
        let untold = |pruned: &Through| told.is_none_or(|told| pruned.is_beyond(told));
        let hidden = self.view.shape().pruned.filter(untold);
        let fresh = shape.pruned.filter(|pruned| hidden.is_none() && untold(pruned));
        let due = unsummarised(history, shape, self.calibration().estimated(self.window()));
        if let Some(through) = fresh.or(due) {
            self.write_summary(history, shape, through, None);
        }
    }

    /// Asks for a summary of everything up to there, for a view of this shape: the present one, or the next.
    pub(super) fn write_summary(&mut self, history: &History, shape: &Shape, through: Through, focus: Option<String>) {
        let (facts, last_item) = self.summary_facts(history, shape, through);
        let host = Host::of(self.prompts(), &facts);
        let (model, other) = self.summary_model();
        let calibration = self.calibration();
        // What was refused as too long is refused again.
        let refused = self.compacting.waits.as_ref().is_some_and(|waits| waits.cause == CompactionCause::TooLong);
        let most = if refused && !other { self.window() / 2 } else { u64::MAX };
        let usable = model.usable_window().min(most);
        let of_view: Vec<Item> = part(history, through).cloned().collect();
        let shortened = self.view.shape();
        let told = shape.summary.as_ref().map(|summary| summary.through);
        let hidden: Vec<Item> = of_view
            .iter()
            .filter(|item| shortened.pruned.is_some_and(|pruned| pruned.holds(item.turn, item.step)))
            .filter(|item| told.is_none_or(|told| !told.holds(item.turn, item.step)))
            .cloned()
            .collect();
        let originals_room = calibration.estimated(model.context_window * ORIGINALS_PERCENT / 100);
        let mut originals = pieces(&hidden, &history.projections, originals_room);
        if originals.len() <= 1 && shape.summary != shortened.summary {
            // The prefix has an older one.
            let newer = shape.summary.as_ref().map_or("", |summary| summary.text.as_str());
            originals = vec![format!("{newer}\n{}", originals.concat())];
        }
        let prompts = self.prompts().clone();
        let message =
            ask::instruction(&prompts, &host, &facts, focus.as_deref(), originals.first().map(String::as_str));
        let plain = ask::demand(&prompts, &host, &facts, focus.as_deref());
        let sent = self.view.tokens();
        let fits = |extra: u64| sent.saturating_add(calibration.of(extra)) <= usable;
        let fork = self.view.fork(self.counters.request).filter(|_| !other && !refused && originals.len() <= 1);
        let on_prefix = fork.filter(|_| fits(tokens(&message)));
        let behind = if on_prefix.is_some() { sent } else { 0 };
        let replaces = Costs::of(history).measure_through(&shortened, through);
        let (start, source, said, records) = if let Some(start) = on_prefix {
            (start, SummarySource::Fork, vec![Message::User(message)], VecDeque::new())
        } else {
            let room = ask::room(&prompts, &host, &facts, focus.as_deref(), calibration.estimated(usable));
            let records: VecDeque<String> = pieces(&of_view, &history.projections, room).into();
            let start = self.view.alone(&ask::system(&prompts), &model);
            (start, SummarySource::Independent, Vec::new(), records)
        };
        let parts = records.len();
        self.compacting.writing = Some(Box::new(Writing {
            no: SideNo(0),
            source,
            after: told,
            facts,
            host,
            through,
            last_item,
            replaces,
            focus,
            start,
            said,
            room: calibration.estimated(usable.saturating_sub(behind)),
            records,
            parts,
            instruction: plain,
            repaired: false,
            done: BTreeMap::new(),
            usage: None,
        }));
        if source == SummarySource::Independent {
            self.next_piece(None);
        } else {
            self.call_side();
        }
    }

    /// Gives the next records to a call that stands alone; without any there is nothing to ask.
    fn next_piece(&mut self, so_far: Option<String>) {
        let prompts = self.prompts().clone();
        let Some(writing) = &mut self.compacting.writing else { return };
        let Some(records) = writing.records.pop_front() else {
            self.no_summary("there is nothing that a model could be asked about");
            return;
        };
        let so_far = so_far.or_else(|| writing.facts.earlier.clone());
        let piece = Piece {
            records: &records,
            part: writing.parts - writing.records.len(),
            parts: writing.parts,
            so_far: so_far.as_deref(),
        };
        let text = ask::independent(&prompts, &writing.host, &writing.facts, writing.focus.as_deref(), piece);
        writing.said = vec![Message::User(text)];
        self.call_side();
    }

    /// Sends what is to be said. Its row is stored before.
    fn call_side(&mut self) {
        self.counters.side = self.counters.side.next();
        let no = self.counters.side;
        let (model, other_model) = self.summary_model();
        let now = self.now;
        let Some(writing) = &mut self.compacting.writing else { return };
        writing.no = no;
        writing.done.clear();
        writing.usage = None;
        let (row, body) = self.view.side(&writing.start, &writing.said, no, now, &model);
        self.held.side = Some(row);
        self.commit();
        self.effects.push(Effect::CallSide(Box::new(SideCall { no, other_model, api: model.api, body })));
    }

    pub(in crate::turn) fn side_event(&mut self, no: SideNo, event: ModelEvent) {
        let Some(writing) = self.compacting.writing.as_mut().filter(|writing| writing.no == no) else { return };
        match event {
            ModelEvent::BlockDone { block, content } => drop(writing.done.insert(block, content)),
            ModelEvent::Usage(usage) => writing.usage = Some(usage),
            ModelEvent::Finished(_) => self.side_finished(),
            ModelEvent::TextDelta { .. } | ModelEvent::ReasoningDelta { .. } | ModelEvent::CallStarted { .. } => {}
        }
    }

    pub(in crate::turn) fn side_failed(&mut self, no: SideNo, error: &ModelError) {
        if self.compacting.writing.as_ref().is_none_or(|writing| writing.no != no) {
            return;
        }
        self.end_side(String::new(), Some(error.message.clone()));
        self.no_summary(&error.message);
        self.commit();
    }

    /// A summary that nobody waits for gives way.
    pub(super) fn stop_preparing(&mut self, why: &str) {
        if self.compacting.waits.is_some() {
            return;
        }
        let Some(no) = self.compacting.writing.as_ref().map(|writing| writing.no) else { return };
        self.effects.push(Effect::StopSide(no));
        self.end_side(String::new(), Some(why.to_owned()));
        self.compacting.writing = None;
        self.compacting.failed_in = Some(self.turn.as_ref().map_or(self.counters.turn, |turn| turn.no));
    }

    fn end_side(&mut self, text: String, error: Option<String>) {
        let Some(writing) = &self.compacting.writing else { return };
        let usage = writing.usage;
        self.held.side_end = Some(SideEnd { no: writing.no, at: self.now, usage, text, error });
        self.usage = self.usage.plus(usage.unwrap_or_default());
    }

    fn side_finished(&mut self) {
        let prompts = self.prompts().clone();
        let Some(writing) = &mut self.compacting.writing else { return };
        let texts = writing.done.values().filter_map(|content| match content {
            BlockContent::Text(text) => Some(text.as_str()),
            BlockContent::Reasoning(_) | BlockContent::Call { .. } => None,
        });
        let answer = texts.collect::<Vec<_>>().join("\n");
        if !writing.records.is_empty() && !answer.trim().is_empty() {
            self.end_side(answer.clone(), None);
            self.next_piece(Some(answer));
            return;
        }
        let names: Vec<&str> = SPECS.iter().map(|spec| spec.name).collect();
        let system = [ask::system(&prompts), prompts.system(&names)];
        let against = Against { replaces: writing.replaces, texts: &[&writing.instruction, &system[0], &system[1]] };
        match accept(&answer, &writing.host, &writing.facts, against) {
            Ok(text) => {
                let summary = Summary { text, through: writing.through, last_item: writing.last_item };
                let (source, after) = (writing.source, writing.after);
                let written = Some(Written { answer: answer.clone(), replaces: writing.replaces });
                self.end_side(answer, None);
                self.compacting.writing = None;
                self.compacting.failed_in = None;
                self.compacting.candidate = Some(Candidate { summary, source, after, written });
                if self.compacting.waits.is_some() && self.compacting.reads.is_none() {
                    self.read_history(Reads::Finish(None));
                }
            }
            Err(problems) => {
                let why = problems.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
                if writing.repaired {
                    self.end_side(answer, Some(why.clone()));
                    self.no_summary(&why);
                } else {
                    writing.repaired = true;
                    let repair = ask::repair(&prompts, &problems);
                    let said: u64 = writing.said.iter().map(message_tokens).sum();
                    let fits = said + tokens(&answer) + tokens(&repair) <= writing.room;
                    if !answer.trim().is_empty() && fits {
                        writing.said.push(Message::Assistant(vec![AssistantBlock::Text(answer.clone())]));
                    }
                    writing.said.push(Message::User(repair));
                    self.end_side(answer, Some(why));
                    self.call_side();
                }
            }
        }
        self.commit();
    }

    /// No model gave one that can be used: whoever waits gets the host's own.
    fn no_summary(&mut self, why: &str) {
        let Some(writing) = self.compacting.writing.take() else { return };
        self.compacting.failed_in = Some(self.turn.as_ref().map_or(self.counters.turn, |turn| turn.no));
        let Some(waits) = &mut self.compacting.waits else { return };
        waits.failed = Some(why.to_owned());
        if self.compacting.reads.is_none() {
            self.read_history(Reads::Finish(Some(writing.through)));
        }
    }

    /// Goes over to the summary that is there; else to one from the record alone, up to there.
    pub(super) fn finish_summary(&mut self, history: &History, host: Option<Through>) {
        let Some(waits) = self.compacting.waits.clone() else { return };
        self.renew_candidate(history);
        if let (None, Some(through)) = (&self.compacting.candidate, host) {
            let (facts, last_item) = self.summary_facts(history, &self.view.shape(), through);
            let text = from_store(&Host::of(self.prompts(), &facts), &turn_lines(history, through));
            let after = self.view.shape().summary.map(|summary| summary.through);
            let summary = Summary { text, through, last_item };
            self.compacting.candidate = Some(Candidate { summary, source: SummarySource::Host, after, written: None });
        }
        let Some(candidate) = self.compacting.candidate.clone() else {
            self.compaction_over(None, waits.failed);
            return;
        };
        let shape = self.view.shape();
        let draft = with_summary(&self.basis(history, &shape), waits.aim, &candidate.summary);
        let before = self.view.next_tokens(&self.settings.model);
        if draft.after < before {
            self.switch(history, draft);
            return;
        }
        // A summary that makes nothing smaller is of no use.
        self.compacting.candidate = None;
        match waits.without {
            Some(draft) => self.switch(history, draft),
            None => self.compaction_over(None, Some("a summary would not make the conversation smaller".to_owned())),
        }
    }

    /// A summary that is ready says what the host knows now, and not what it knew when it was written. One that cannot be used
    /// any more is dropped: it continues another summary than the view has, or says what is not so any more.
    pub(super) fn renew_candidate(&mut self, history: &History) {
        let present = self.view.shape();
        let told = present.summary.as_ref().map(|summary| summary.through);
        self.compacting.candidate.take_if(|candidate| candidate.after != told);
        let Some(Candidate { summary, written: Some(written), .. }) = &self.compacting.candidate else { return };
        let (facts, _) = self.summary_facts(history, &present, summary.through);
        let host = Host::of(self.prompts(), &facts);
        let against = Against { replaces: written.replaces, texts: &[] };
        match (accept(&written.answer, &host, &facts, against), &mut self.compacting.candidate) {
            (Ok(text), Some(candidate)) => candidate.summary.text = text,
            _ => self.compacting.candidate = None,
        }
    }

    /// What the host knows of that part, and its last item.
    fn summary_facts(&self, history: &History, shape: &Shape, through: Through) -> (Facts, ItemNo) {
        let leaves = |turn: TurnNo| through.holds_turn(turn);
        let old = shape.summary.clone();
        let ends = part(history, through).filter(|item| leaves(item.turn)).map(|item| item.no).max();
        let last_item = ends.or(old.as_ref().map(|old| old.last_item)).unwrap_or_default();
        let items = part(history, through).map(|item| item.no).max().unwrap_or(last_item);
        let files = self.seen.known(FILES).into_iter().rev();
        let open =
            |todo: &&crate::tool::outcome::Todo| matches!(todo.status, TodoStatus::Pending | TodoStatus::InProgress);
        let tests = self.verification.as_ref().map(|known| {
            let beside = known.beside(self.revision);
            let passed = if beside.passed { "passed" } else { "did not pass" };
            format!("The last tests ({}, {}) {passed} on {}.", known.call, known.command, beside.revision)
        });
        let facts = Facts {
            files: files.map(|(path, version)| (path, version.to_string().chars().take(12).collect())).collect(),
            said: history.said.iter().filter(|said| leaves(said.turn)).cloned().collect(),
            unsettled: self.unsettled.iter().map(|operation| (operation.call, operation.line())).collect(),
            tests,
            todos: self.todos.iter().filter(open).map(|todo| todo.content.clone()).collect(),
            transcript: history.transcript.clone(),
            covers: Covers { turns: (TurnNo(1), through.turn), items: (ItemNo(1), items) },
            calls: (1..=self.counters.call.0).map(CallId).collect(),
            window: self.calibration().estimated(self.window()),
            earlier: old.map(|old| old.text),
            tools: SPECS.iter().map(|spec| spec.name.to_owned()).collect(),
            ..Facts::default()
        };
        let facts = match &self.task {
            Some(task) => facts.with_task(task),
            None => facts,
        };
        (facts, last_item)
    }

    /// The user interrupts it: the view stays as it is.
    pub(in crate::turn) fn cancel_compaction(&mut self) {
        let Some(waits) = self.compacting.waits.take() else { return };
        self.compacting.reads = None;
        if let Some(writing) = &self.compacting.writing {
            self.effects.push(Effect::StopSide(writing.no));
            self.end_side(String::new(), Some("interrupted by the user".to_owned()));
            self.compacting.writing = None;
        }
        if waits.told || waits.cause == CompactionCause::Manual {
            let message = Some("interrupted by the user".to_owned());
            self.add_event(crate::event::EventBody::CompactionFinished { epoch: None, facts: None, message });
        }
    }

    /// The machine is let go of: nothing of it is waited for any more.
    pub(in crate::turn) fn stop_compaction(&mut self) {
        if let Some(writing) = self.compacting.writing.take() {
            self.effects.push(Effect::StopSide(writing.no));
        }
        self.compacting = super::super::compacting::Compacting::default();
    }
}

/// The items of a history up to a place.
fn part(history: &History, through: Through) -> impl Iterator<Item = &Item> {
    history.items.iter().filter(move |item| through.holds(item.turn, item.step))
}

/// What each turn of a part did.
fn turn_lines(history: &History, through: Through) -> Vec<TurnLine> {
    let mut turns: BTreeMap<TurnNo, Vec<&Item>> = BTreeMap::new();
    for item in part(history, through) {
        turns.entry(item.turn).or_default().push(item);
    }
    turns
        .into_iter()
        .map(|(turn, items)| TurnLine {
            turn,
            items: (
                items.first().map(|item| item.no).unwrap_or_default(),
                items.last().map(|item| item.no).unwrap_or_default(),
            ),
            line: turn_line(turn, &items, &history.projections),
        })
        .collect()
}

/// Estimated tokens of what is said beside the conversation.
fn message_tokens(message: &Message) -> u64 {
    match message {
        Message::User(text) => tokens(text),
        Message::Assistant(_) | Message::Results(_) | Message::Pictures { .. } => 0,
    }
}
