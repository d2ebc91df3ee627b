//! How a turn begins: a prompt, the environment, the first request.

use super::super::effect::Effect;
use super::super::input::Prompt;
use super::super::machine::{MAX_QUEUED, Machine};
use super::super::state::{Phase, Surroundings, Turn};
use crate::context;
use crate::context::edit_history;
use crate::context::head::{Basis, Head, head};
use crate::context::rules::Touched;
use crate::context::tool_facts::tool_facts;
use crate::context::view::Opening;
use crate::event::{EventBody, TurnEnd};
use crate::id::{ItemNo, StepNo, TurnNo};
use crate::media::Image;
use crate::model::usage::Usage;
use crate::tokens::tokens;
use crate::transcript::batch::SessionState;
use crate::transcript::epoch::{EpochCause, ToolFacts};
use crate::transcript::item::{ItemBody, MetaCause, NoticeCause, UserMessage};
use crate::workspace::{Environment, Wanted};

/// Files that are looked at for changes by others: those that the model has seen last.
const KNOWN_FILES: usize = 200;

/// Characters of the first prompt's first line that make a session's title.
const TITLE_CHARS: usize = 60;

impl Machine {
    pub(in crate::turn) fn prompt(&mut self, prompt: Prompt) {
        let waits = self.turn.is_some() || self.is_compacting_alone();
        if waits && self.queue.len() >= MAX_QUEUED {
            return;
        }
        self.counters.turn = self.counters.turn.next();
        let turn = self.counters.turn;
        if waits {
            // A session with a turn that waits is not idle: after a crash the turn must be told as ended.
            if self.turn.as_ref().is_none_or(|running| matches!(running.phase, Phase::Collecting)) {
                self.set_state(SessionState::Running);
            }
            self.queue.push_back((turn, prompt));
            if self.is_asking() {
                self.expect_answer();
            }
            self.add_event(EventBody::TurnQueued { turn });
            self.commit();
            self.effects.push(Effect::Accepted { turn, queued: true });
        } else {
            self.begin(turn, prompt);
        }
    }

    pub(in crate::turn) fn begin(&mut self, no: TurnNo, prompt: Prompt) {
        let mut attachments = prompt.attachments;
        let mut named = context::attached_sessions::mentioned(&prompt.text);
        named.retain(|one| !attachments.contains(one));
        attachments.append(&mut named);
        self.turn = Some(Turn {
            no,
            step: StepNo(0),
            text: prompt.text,
            environment: Box::default(),
            surroundings: Surroundings::Known,
            touched: Touched::default(),
            changed: std::collections::BTreeSet::new(),
            key: prompt.key,
            goes_on: prompt.goes_on,
            phase: Phase::Collecting,
            usage: Usage::default(),
            steering: Vec::new(),
            cancelled: false,
            attempts: 0,
            continued: 0,
            failing: None,
            same: None,
            steps_allowed: self.settings.max_steps,
        });
        let wanted = Wanted { attachments, known: self.seen.known(KNOWN_FILES) };
        self.effects.push(Effect::Collect { turn: no, wanted: Box::new(wanted) });
    }

    pub(in crate::turn) fn steer(&mut self, text: String) {
        match &mut self.turn {
            Some(turn) if !turn.cancelled => {
                turn.steering.push(text);
                // Between calls it can be stored at once. While the model answers it waits: the answer does not know it.
                if matches!(turn.phase, Phase::Calls(_) | Phase::Asking(_)) {
                    self.add_steering();
                    self.commit();
                }
            }
            Some(_) | None => self.prompt(Prompt { text, key: None, attachments: Vec::new(), goes_on: None }),
        }
    }

    /// Everything that was said while the turn ran becomes part of the transcript.
    pub(in crate::turn) fn add_steering(&mut self) {
        let steering = self.turn.as_mut().map(|turn| std::mem::take(&mut turn.steering)).unwrap_or_default();
        for text in steering {
            self.add_item(ItemBody::User(UserMessage { text, steering: true, ..UserMessage::default() }));
        }
    }

    /// The environment is known: the user's message and the first request are one commit.
    pub(in crate::turn) fn collected(&mut self, turn: TurnNo, environment: &Environment) {
        let Some(running) = &self.turn else { return };
        if running.no != turn {
            return;
        }
        if !matches!(running.phase, Phase::Collecting) {
            self.surroundings_known(environment);
            return;
        }
        if let Some(turn) = &mut self.turn {
            *turn.environment = environment.clone();
        }
        let text = self.start_turn();
        for notice in std::mem::take(&mut self.notices) {
            self.add_notice(NoticeCause::Info, notice);
        }
        self.see_revision(environment.revision);
        self.set_state(SessionState::Running);
        match self.state_surroundings(text, environment) {
            Ok(()) => self.request(),
            Err(why) => {
                self.add_notice(NoticeCause::Limit, why.clone());
                self.finish(TurnEnd::ModelError, Some(why));
            }
        }
        self.accepted(turn);
    }

    /// The user interrupts a turn before its surroundings are known. Nothing is sent, so nothing has been stated.
    pub(in crate::turn) fn interrupted_at_once(&mut self) {
        let Some(no) = self.running_turn() else { return };
        let text = self.start_turn();
        match self.turn.as_ref().and_then(|turn| turn.goes_on) {
            Some(end) => self.go_on(end, ""),
            None => self.add_item(ItemBody::User(UserMessage { text, ..UserMessage::default() })),
        };
        self.interrupted();
        self.accepted(no);
    }

    /// Writes down that the turn begins; gives the prompt's text.
    fn start_turn(&mut self) -> String {
        let Some(turn) = &mut self.turn else { return String::new() };
        let (no, key, text) = (turn.no, turn.key.take(), std::mem::take(&mut turn.text));
        // A prompt of images alone has no words for a title.
        if !self.titled && !text.trim().is_empty() {
            self.titled = true;
            self.held.title = Some(title(&text));
            self.add_event(EventBody::SessionChanged);
        }
        self.add_event(EventBody::TurnStarted { turn: no });
        self.held.prompt_key = key.map(|key| (key, no));
        text
    }

    /// The user's message with what is new around it; in a new epoch behind the epoch's head. A text that does not fit the
    /// window is never cut: it is kept in the transcript, not shown to the model, and the error says its size.
    fn state_surroundings(&mut self, text: String, environment: &Environment) -> Result<(), String> {
        self.view.take_back();
        let opened = self.open_epoch(environment);
        let changes =
            context::changes(environment, self.view.stated(), self.settings.model.context_window, self.prompts());
        let attached = context::attached_files::render(&environment.attached, self.settings.model.context_window);
        let sessions = context::attached_sessions::render(&environment.sessions);
        let blocks = [changes.additional_data, attached.block, sessions];
        let additional_data = blocks.into_iter().filter(|block| !block.is_empty()).collect::<Vec<_>>().join("\n\n");
        let images = environment.images.clone();
        let pictured = if self.settings.model.images { images.iter().map(Image::tokens).sum() } else { 0 };
        let own = tokens(&text).saturating_add(pictured);
        // What stands before it can be shortened.
        let before = if self.settings.compaction.auto {
            self.calibration().of(self.view.head_estimate())
        } else {
            self.view.next_tokens(&self.settings.model)
        };
        let around = changes
            .reminders
            .iter()
            .map(|(_, text)| text)
            .chain(changes.lists.iter().map(|(_, text)| text))
            .chain([&additional_data])
            .map(|text| tokens(text))
            .sum::<u64>();
        let room = self.settings.model.usable_window();
        if before.saturating_add(own).saturating_add(around) > room {
            let why = too_large(text.len(), own, before.saturating_add(around), room, &self.settings.model.id());
            self.add_item(ItemBody::User(UserMessage { text, images, refused: true, ..UserMessage::default() }));
            return Err(why);
        }
        for notice in context::attached_sessions::notices(&environment.sessions) {
            self.add_notice(NoticeCause::Info, notice);
        }
        if let Some(notice) = changes.notice {
            self.add_notice(NoticeCause::Info, notice);
        }
        let mut stated = changes.stated;
        // Of a file that is known as it is now again, or not at all, the next change is news.
        let seen = &self.seen;
        stated.retain(|block, told| {
            edit_history::path(block).is_none_or(|path| seen.version(path).is_some_and(|known| known != told))
        });
        let (blocks, texts): (Vec<String>, Vec<String>) = changes.reminders.into_iter().unzip();
        if opened && !texts.is_empty() {
            // What the history says otherwise than the new head is put right by one message.
            let item = self.remind(MetaCause::InstructionsChanged, texts.join("\n\n"));
            stated.say(&blocks, item);
        } else {
            for (block, text) in blocks.iter().zip(texts) {
                let item = self.remind(MetaCause::InstructionsChanged, text);
                stated.say([block], item);
            }
        }
        if let Some((names, text)) = changes.lists {
            let item = self.remind(MetaCause::ListsChanged, text);
            stated.say(&names, item);
        }
        self.tell_stale_todos();
        self.tell();
        self.tell_unsettled();
        for shown in &attached.shown {
            self.seen.add(shown);
        }
        let item = if let Some(end) = self.turn.as_ref().and_then(|turn| turn.goes_on) {
            self.go_on(end, &additional_data)
        } else {
            let shown = attached.shown;
            let message = UserMessage { text, additional_data, images, shown, ..UserMessage::default() };
            self.add_item(ItemBody::User(message))
        };
        stated.say(&changes.said, item);
        self.view.state(stated);
        Ok(())
    }

    /// What a turn begins with that goes on with one that was cut, in the place of a prompt.
    fn go_on(&mut self, end: TurnEnd, additional_data: &str) -> ItemNo {
        let what = match end {
            TurnEnd::Crashed => "Plimsoll's daemon ended in the middle of it",
            TurnEnd::StoreError => "the session could not be stored any more",
            TurnEnd::Internal => "a fault inside Plimsoll ended it",
            TurnEnd::Cancelled => "the user had interrupted it",
            TurnEnd::ModelError => "the model could not be reached, or failed",
            TurnEnd::EndTurn | TurnEnd::MaxTokens | TurnEnd::MaxSteps | TurnEnd::Limit | TurnEnd::Refusal => {
                "it had not come to its end"
            }
        };
        let mut text = self.prompts().reminder_go_on(what);
        if !additional_data.is_empty() {
            text = format!("<additional_data>\n{additional_data}\n</additional_data>\n\n{text}");
        }
        self.remind(MetaCause::GoesOn, text)
    }

    /// The client hears of its turn once the turn is stored.
    fn accepted(&mut self, turn: TurnNo) {
        let after_commit = self
            .effects
            .iter()
            .position(|effect| matches!(effect, Effect::Commit(_)))
            .map_or(self.effects.len(), |at| at + 1);
        self.effects.insert(after_commit, Effect::Accepted { turn, queued: false });
    }

    /// Opens a new epoch when one is due; says whether it did.
    fn open_epoch(&mut self, environment: &Environment) -> bool {
        let head = self.head(environment);
        let facts = tool_facts(&head.tools, &environment.user_info.shell, self.settings.policy.sandbox);
        let Some(cause) = self.epoch_due(environment, &head, &facts) else { return false };
        self.counters.epoch = self.counters.epoch.next();
        let opening = Opening { no: self.counters.epoch, cause, at: self.now };
        self.held.epoch = Some(self.view.open_epoch(opening, &self.settings.model, head, facts));
        for warning in std::mem::take(&mut self.text_warnings) {
            self.add_notice(NoticeCause::Info, warning);
        }
        true
    }

    /// Why a new epoch is due at a turn's start, if one is. Surroundings that could not be collected are no reason for one.
    fn epoch_due(&self, environment: &Environment, head: &Head, facts: &ToolFacts) -> Option<EpochCause> {
        let (view, model) = (&self.view, &self.settings.model);
        if let Some(cause) = view.epoch_due(model) {
            return Some(cause);
        }
        if environment.user_info.roots.is_empty() {
            return None;
        }
        if view.tools_differ(facts) {
            return Some(EpochCause::ToolsChanged);
        }
        // The same bytes once more would cost a full statement of the repository and give nothing.
        (view.is_cold(self.now, model) && view.head_differs(head, model)).then_some(EpochCause::Cold)
    }

    /// The head that an epoch would have now.
    fn head(&self, environment: &Environment) -> Head {
        let settings = &self.settings;
        let basis = Basis {
            window: settings.model.context_window,
            prompts: &settings.prompts,
            language: settings.language.as_deref(),
            sandbox: settings.policy.sandbox,
        };
        head(environment, &basis)
    }
}

/// Why a prompt is not sent, with what to do: `own` and `around` are estimated tokens of the text and of the rest.
fn too_large(bytes: usize, own: u64, around: u64, room: u64, model: &str) -> String {
    if own > room {
        return format!(
            "The prompt was not sent: its text of {bytes} bytes has about {own} tokens, and {model} takes {room} in all. \
             Put the text into a file and name it, or use a model with a larger window."
        );
    }
    format!(
        "The prompt was not sent: its text of {bytes} bytes has about {own} tokens, the conversation before it {around}, \
         and {model} takes {room} in all. Begin a new session, or use a model with a larger window."
    )
}

/// The first line of a prompt, cut at a word.
fn title(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    if line.chars().count() <= TITLE_CHARS {
        return line.to_owned();
    }
    let cut: String = line.chars().take(TITLE_CHARS).collect();
    let end = cut.rfind(' ').filter(|at| *at > TITLE_CHARS / 2).unwrap_or(cut.len());
    format!("{}…", cut.get(..end).unwrap_or(&cut).trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_the_first_line_cut_at_a_word() {
        assert_eq!(title("\n  Fix the bug  \nmore"), "Fix the bug");
        assert_eq!(
            title("Please explain in detail how the connection loop handles partial frames"),
            "Please explain in detail how the connection loop handles…"
        );
    }
}
