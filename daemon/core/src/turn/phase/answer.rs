//! The model's answer: streamed, completed, cut, failed.

use super::super::effect::Effect;
use super::super::input::TimerId;
use super::super::machine::Machine;
use super::super::state::{Answer, Phase, Slot, SlotState};
use super::request::WINDOW_FULL;
use crate::event::{Delta, EventBody, TurnEnd};
use crate::id::{ItemNo, RequestNo};
use crate::model::error::{ErrorClass, ModelError};
use crate::model::event::{BlockContent, ModelEvent, StopReason};
use crate::tool::name;
use crate::transcript::epoch::RequestEnd;
use crate::transcript::item::{AssistantText, ItemBody, MetaCause, MetaMessage, NoticeCause, ToolCall};

/// Attempts at one request: the first and its repetitions.
const MAX_ATTEMPTS: u32 = 6;
/// First pause before a repetition; it doubles with each.
const FIRST_PAUSE_MS: u64 = 500;
/// Longest pause of Plimsoll's own choice.
const LONGEST_PAUSE_MS: u64 = 30_000;
/// Longest pause that a provider may ask for; beyond it the turn ends and says so.
const LONGEST_ASKED_PAUSE_MS: u64 = 120_000;
/// How often in one turn the model is asked to go on with an unfinished answer.
const MAX_CONTINUED: u32 = 3;
/// Repetitions after an answer without any content.
const EMPTY_ATTEMPTS: u32 = 2;

impl Machine {
    pub(in crate::turn) fn model_event(&mut self, request: RequestNo, event: ModelEvent) {
        let Some(turn) = &mut self.turn else { return };
        let (no, step) = (turn.no, turn.step);
        let Phase::Calling(answer) = &mut turn.phase else { return };
        if answer.request != request {
            return;
        }
        match event {
            ModelEvent::TextDelta { block, text } => {
                answer.partial.entry(block).or_default().push_str(&text);
                self.effects.push(Effect::Emit(Delta::Text { turn: no, step, block, text }));
            }
            ModelEvent::ReasoningDelta { block, text } => {
                self.effects.push(Effect::Emit(Delta::Reasoning { turn: no, step, block, text }));
            }
            ModelEvent::CallStarted { .. } => {}
            ModelEvent::BlockDone { block, content } => {
                answer.partial.remove(&block);
                answer.done.insert(block, content);
            }
            ModelEvent::Usage(usage) => answer.usage = Some(usage),
            ModelEvent::Finished(stop) => {
                let answer = std::mem::replace(answer, Answer::new(request));
                self.finished(answer, &stop);
            }
        }
    }

    /// Records the end of the running request.
    pub(in crate::turn) fn end_request(&mut self, answer: &Answer, error: Option<String>) {
        self.held.request_end = Some(RequestEnd { no: answer.request, at: self.now, usage: answer.usage, error });
        if let Some(usage) = answer.usage {
            self.learn(usage);
            self.view.anchor(usage);
        }
        let Some(turn) = &mut self.turn else { return };
        turn.usage = turn.usage.plus(answer.usage.unwrap_or_default());
        self.usage = self.usage.plus(answer.usage.unwrap_or_default());
        let (turn, step) = (turn.no, turn.step);
        self.add_event(EventBody::StepCompleted { turn, step, usage: answer.usage });
    }

    fn finished(&mut self, answer: Answer, stop: &StopReason) {
        if answer.done.is_empty() {
            self.answered_nothing(&answer, stop);
            return;
        }
        let slots = self.add_blocks(&answer);
        self.end_request(&answer, None);
        if !slots.is_empty() {
            self.start_calls(slots);
            return;
        }
        let steered = self.turn.as_ref().is_some_and(|turn| !turn.steering.is_empty());
        match stop {
            StopReason::MaxTokens if self.may_continue() => {
                self.remind(MetaCause::OutputLimit, self.prompts().reminder_output_limit());
                self.request();
            }
            _ if steered => self.request(),
            StopReason::MaxTokens => self.finish(TurnEnd::MaxTokens, None),
            StopReason::Refusal => self.finish(TurnEnd::Refusal, Some("The model refused to answer.".to_owned())),
            StopReason::EndTurn | StopReason::ToolCalls | StopReason::Other(_) => self.finish(TurnEnd::EndTurn, None),
        }
    }

    /// Items of all complete blocks, in order; the calls among them become slots.
    fn add_blocks(&mut self, answer: &Answer) -> Vec<Slot> {
        let mut slots = Vec::new();
        for content in answer.done.values() {
            match content {
                BlockContent::Text(text) => {
                    self.add_item(ItemBody::Assistant(AssistantText { text: text.clone(), cut: false }));
                }
                BlockContent::Reasoning(reasoning) => {
                    self.add_item(ItemBody::Reasoning(reasoning.clone()));
                }
                BlockContent::Call { provider_id, name, arguments } => {
                    self.counters.call = self.counters.call.next();
                    let id = self.counters.call;
                    self.add_item(ItemBody::ToolCall(ToolCall {
                        call: id,
                        tool: name.clone(),
                        arguments: arguments.clone(),
                        provider_id: provider_id.clone(),
                    }));
                    let spec = name::normalise(name);
                    slots.push(Slot {
                        id,
                        tool: spec.map_or_else(|| name.clone(), |spec| spec.name.to_owned()),
                        arguments: arguments.clone(),
                        spec,
                        call: None,
                        target: None,
                        held_by: None,
                        operation: None,
                        state: SlotState::Waiting,
                    });
                }
            }
        }
        slots
    }

    fn answered_nothing(&mut self, answer: &Answer, stop: &StopReason) {
        let Some(turn) = &mut self.turn else { return };
        turn.attempts += 1;
        if *stop == StopReason::Refusal {
            self.end_request(answer, Some("refused".to_owned()));
            self.finish(TurnEnd::Refusal, Some("The model refused to answer.".to_owned()));
        } else if turn.attempts <= EMPTY_ATTEMPTS {
            turn.usage = turn.usage.plus(answer.usage.unwrap_or_default());
            self.usage = self.usage.plus(answer.usage.unwrap_or_default());
            self.pause(FIRST_PAUSE_MS, "The model answered nothing; trying again");
        } else {
            self.end_request(answer, Some("empty response".to_owned()));
            let text = "empty response: the model answered with neither text nor a call, several times. \
                        Try again, or another model."
                .to_owned();
            self.add_notice(NoticeCause::ModelError, text.clone());
            self.finish(TurnEnd::ModelError, Some(text));
        }
    }

    pub(in crate::turn) fn model_failed(&mut self, request: RequestNo, error: &ModelError) {
        let Some(turn) = &mut self.turn else { return };
        let Phase::Calling(answer) = &mut turn.phase else { return };
        if answer.request != request {
            return;
        }
        let answer = std::mem::replace(answer, Answer::new(request));
        if answer.has_content() {
            self.cut(&answer, error);
            return;
        }
        turn.attempts += 1;
        let attempts = turn.attempts;
        let asked = error.retry_after_ms;
        if error.class == ErrorClass::ContextTooLong && self.settings.compaction.auto {
            self.end_request(&answer, Some(error.message.clone()));
            if !self.compact_refused(&error.message) {
                self.refused_as_too_long(&error.message);
            }
            return;
        }
        if error.class.is_retryable() && attempts < MAX_ATTEMPTS && asked.is_none_or(|ms| ms <= LONGEST_ASKED_PAUSE_MS)
        {
            if error.class == ErrorClass::RateLimited {
                self.stop_preparing("the provider limits requests: the conversation goes first");
            }
            let own = FIRST_PAUSE_MS.saturating_mul(1 << (attempts - 1).min(16)).min(LONGEST_PAUSE_MS);
            self.pause(asked.unwrap_or(own), &error.message);
        } else {
            self.end_request(&answer, Some(error.message.clone()));
            let text = match (error.class, asked) {
                (ErrorClass::RateLimited | ErrorClass::Unavailable, Some(ms)) if ms > LONGEST_ASKED_PAUSE_MS => {
                    format!("{} The provider asks to wait {} s; try again then.", error.message, ms / 1000)
                }
                (ErrorClass::ContextTooLong, _) => {
                    self.refused_as_too_long(&error.message);
                    return;
                }
                _ => error.message.clone(),
            };
            self.add_notice(NoticeCause::ModelError, text.clone());
            self.finish(TurnEnd::ModelError, Some(text));
        }
    }

    /// A refusal, in the provider's words, that nothing more can be done about.
    pub(super) fn refused_as_too_long(&mut self, message: &str) {
        let text = format!("{message} {WINDOW_FULL}");
        self.add_notice(NoticeCause::ModelError, text.clone());
        self.finish(TurnEnd::ModelError, Some(text));
    }

    /// The stream broke after the user saw some of the answer: it is kept, marked, and the model goes on from there.
    fn cut(&mut self, answer: &Answer, error: &ModelError) {
        self.keep_cut_text(answer);
        self.end_request(answer, Some(error.message.clone()));
        if error.class.is_retryable() && self.may_continue() {
            self.add_notice(
                NoticeCause::Retry,
                format!("The answer was cut ({}); asking the model to go on.", error.message),
            );
            self.remind(MetaCause::ContinueCut, self.prompts().reminder_continue_cut());
            self.request();
        } else {
            self.add_notice(NoticeCause::ModelError, error.message.clone());
            self.finish(TurnEnd::ModelError, Some(error.message.clone()));
        }
    }

    /// Texts of an answer that did not end, in order. Calls and reasoning of such an answer are not kept: a call that
    /// was not confirmed must not run, and a signature covers whole answers only.
    pub(in crate::turn) fn keep_cut_text(&mut self, answer: &Answer) {
        let mut texts: std::collections::BTreeMap<u32, &str> = answer
            .partial
            .iter()
            .filter(|(_, text)| !text.is_empty())
            .map(|(block, text)| (*block, text.as_str()))
            .collect();
        for (block, content) in &answer.done {
            if let BlockContent::Text(text) = content {
                texts.insert(*block, text);
            }
        }
        for text in texts.into_values() {
            self.add_item(ItemBody::Assistant(AssistantText { text: text.to_owned(), cut: true }));
        }
    }

    fn may_continue(&mut self) -> bool {
        let Some(turn) = &mut self.turn else { return false };
        turn.continued += 1;
        turn.continued <= MAX_CONTINUED
    }

    pub(in crate::turn) fn remind(&mut self, cause: MetaCause, text: String) -> ItemNo {
        self.add_item(ItemBody::Meta(MetaMessage { cause, text }))
    }

    fn pause(&mut self, delay_ms: u64, why: &str) {
        self.timer += 1;
        let timer = TimerId(self.timer);
        if let Some(turn) = &mut self.turn {
            turn.phase = Phase::Backoff { timer };
        }
        let seconds = (delay_ms + 500) / 1000;
        self.add_notice(NoticeCause::Retry, format!("{why} (again in {seconds} s)"));
        self.commit();
        self.effects.push(Effect::StartTimer { id: timer, delay_ms });
    }

    pub(in crate::turn) fn timer(&mut self, id: TimerId) {
        if self.patience_over(id) {
            return;
        }
        if matches!(&self.turn, Some(turn) if matches!(turn.phase, Phase::Backoff { timer } if timer == id)) {
            self.request_again();
        }
    }
}
