//! Layers 1 to 4: what an epoch begins with and keeps.

use super::{changes, dynamic, instructions, project_layout, rules};
use crate::model::request::{Message, ToolDef};
use crate::prompt::Prompts;
use crate::tool::spec::SPECS;
use crate::transcript::epoch::Stated;
use crate::workspace::Environment;

/// Instruction files may fill one part in this many of the model's window; what is beyond is named with its call.
const INSTRUCTIONS_SHARE: u64 = 20;

/// The head of an epoch, before any wire.
#[derive(Debug, Clone, PartialEq)]
pub struct Head {
    /// Layer 1.
    pub tools: Vec<ToolDef>,
    /// Layer 2, then layer 3.
    pub system: Vec<String>,
    /// Layer 4: the project's instructions, when there are any.
    pub preamble: Option<Message>,
    /// The texts that it is made from.
    pub prompts: Prompts,
    /// What this says, so that a change is told.
    pub stated: Stated,
}

/// The head that these surroundings give for a model with this window.
pub fn head(environment: &Environment, window: u64, prompts: &Prompts) -> Head {
    Head {
        tools: tools(&rules::described(&environment.rules, window)),
        system: vec![
            prompts.system(),
            dynamic::render(environment, None, project_layout::DEFAULT_BUDGET, window, prompts),
        ],
        preamble: instructions::render(&environment.instructions, instructions_budget(window), prompts)
            .map(Message::User),
        prompts: prompts.clone(),
        stated: changes::stated_by_head(environment, prompts),
    }
}

/// Tokens that instruction files may take.
pub fn instructions_budget(window: u64) -> u64 {
    window / INSTRUCTIONS_SHARE
}

/// The tools; `rules` are the lines that the description of `fetch_rules` lists.
fn tools(rules: &str) -> Vec<ToolDef> {
    SPECS
        .iter()
        .map(|spec| ToolDef {
            name: spec.name.to_owned(),
            description: spec.lean.trim_end().replace("{{rules}}", rules),
            schema: spec.schema.trim_end().to_owned(),
        })
        .collect()
}
