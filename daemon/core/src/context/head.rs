//! Layers 1 to 4: what an epoch begins with and keeps.

use super::description::{DescriptionContext, description};
use super::{changes, dynamic, instructions, project_layout};
use crate::model::request::{Message, ToolDef};
use crate::permission::policy::Sandbox;
use crate::prompt::Prompts;
use crate::tool::spec::{SPECS, Spec};
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

/// What a head depends on besides the surroundings. Nothing of it changes with the permission mode.
#[derive(Debug, Clone, Copy)]
pub struct Basis<'a> {
    /// The model's window in tokens.
    pub window: u64,
    /// The texts.
    pub prompts: &'a Prompts,
    /// The language to answer in, when one is configured.
    pub language: Option<&'a str>,
    /// What this machine can hold commands to.
    pub sandbox: Sandbox,
}

/// The head that these surroundings give.
pub fn head(environment: &Environment, basis: &Basis<'_>) -> Head {
    let Basis { window, prompts, language, sandbox } = *basis;
    let names: Vec<&str> = SPECS.iter().map(|spec| spec.name).collect();
    let context =
        DescriptionContext { tools: &names, shell: &environment.user_info.shell, sandbox, rules: &environment.rules };
    let layout = project_layout::render(&environment.layout, project_layout::DEFAULT_BUDGET, prompts);
    Head {
        tools: SPECS.iter().map(|spec| tool(spec, prompts, &context)).collect(),
        system: vec![
            prompts.system(&names),
            dynamic::render(environment, language, project_layout::DEFAULT_BUDGET, window, prompts),
        ],
        preamble: instructions::render(&environment.instructions, instructions_budget(window), prompts)
            .map(Message::User),
        prompts: prompts.clone(),
        stated: changes::stated_by_head(environment, layout),
    }
}

/// Tokens that instruction files may take.
pub fn instructions_budget(window: u64) -> u64 {
    window / INSTRUCTIONS_SHARE
}

fn tool(spec: &Spec, prompts: &Prompts, context: &DescriptionContext<'_>) -> ToolDef {
    ToolDef {
        name: spec.name.to_owned(),
        description: description(spec, prompts, context),
        schema: spec.schema.trim_end().to_owned(),
    }
}
